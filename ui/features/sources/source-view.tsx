"use client";

import { useQuery } from "@tanstack/react-query";
import dynamic from "next/dynamic";
import { parseAsInteger, parseAsString, parseAsStringLiteral, useQueryStates } from "nuqs";

import { EmptyState, ErrorState, SkeletonBlock } from "@/components/feedback";
import { PageHead } from "@/components/page-head";
import { Banner } from "@/components/state";
import { Tabs } from "@/components/tabs";

import { ItemsTab } from "./items-tab";
import { sourceQuery } from "./queries";
import { RunsTab } from "./runs-tab";
import { SignInButton } from "./sign-in-button";
import { DoneSignIn } from "./sign-in-notices";
import { SourceHead, useParent } from "./source-head";

const SettingsTab = dynamic(() => import("./settings-tab").then((module) => module.SettingsTab), {
  ssr: false,
  loading: () => <SkeletonBlock lines={8} />,
});

const TABS = ["runs", "items", "settings"] as const;

/** A source: its runs, its items, its settings. */
export function SourceView() {
  const parent = useParent();
  const [url, setUrl] = useQueryStates({
    id: parseAsString.withDefault(""),
    tab: parseAsStringLiteral(TABS).withDefault("runs"),
    page: parseAsInteger.withDefault(1),
  });
  const { data, error, refetch } = useQuery({ ...sourceQuery(url.id), enabled: url.id !== "" });
  if (url.id === "" || !data) {
    return (
      <>
        <PageHead title="Source" parent={parent} />
        {url.id === "" ? (
          <EmptyState title="No source selected" />
        ) : error ? (
          <ErrorState error={error} retry={() => void refetch()} />
        ) : (
          <SkeletonBlock lines={8} />
        )}
      </>
    );
  }
  const place = {
    page: Math.max(1, url.page),
    onPage: (page: number) => void setUrl({ page }, { history: "push" }),
    onLastPage: (page: number) => void setUrl({ page }, { history: "replace" }),
  };
  const href = `/sources/view/?id=${url.id}`;
  return (
    <>
      <SourceHead source={data} />
      <DoneSignIn />
      {data.problem && (
        <div className="px-4 pt-4">
          <Banner tone="failed">
            <div className="flex flex-wrap items-start gap-x-3 gap-y-2">
              <p className="min-w-0 flex-1 basis-[240px]">The last run failed. {data.problem.detail}</p>
              {data.problem.code === "sign_in_needed" && <SignInButton source={data} isSmall />}
            </div>
          </Banner>
        </div>
      )}
      <Tabs
        label="Source"
        current={url.tab}
        tabs={[
          { id: "runs", label: "Runs", href },
          { id: "items", label: "Items", href: `${href}&tab=items` },
          { id: "settings", label: "Settings", href: `${href}&tab=settings` },
        ]}
      />
      {url.tab === "runs" ? (
        <RunsTab source={data} place={place} />
      ) : url.tab === "items" ? (
        <ItemsTab source={data} place={place} />
      ) : (
        <SettingsTab key={data.updated_at} source={data} />
      )}
    </>
  );
}
