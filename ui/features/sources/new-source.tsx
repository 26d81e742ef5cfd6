"use client";

import { useQuery } from "@tanstack/react-query";
import { parseAsString, useQueryState } from "nuqs";

import { EmptyState, ErrorState, SkeletonBlock } from "@/components/feedback";
import { OnlyWhoMay } from "@/components/may";
import { PageHead } from "@/components/page-head";
import { ButtonLink } from "@/components/ui/button";

import { CreateForm } from "./create-form";
import { KindGallery } from "./kind-gallery";
import { sourceKindsQuery } from "./queries";

const SOURCES = { href: "/sources/", label: "Sources" };
const KINDS = { href: "/sources/new/", label: "Add source" };

/** A new source: the gallery of kinds, then the form of the chosen one. */
export function NewSource() {
  const [wanted] = useQueryState("kind", parseAsString);
  const { data, error, refetch } = useQuery(sourceKindsQuery());
  const kind = data?.kinds.find((item) => item.kind === wanted);
  return (
    <>
      <PageHead
        key={wanted ?? ""}
        title={wanted === null ? "Add source" : `Add ${kind?.title ?? wanted}`}
        parent={wanted === null ? SOURCES : KINDS}
      />
      <div className="min-h-0 flex-1 overflow-auto">
        <OnlyWhoMay to="create_source" what="add sources">
          {error && !data ? (
            <ErrorState error={error} retry={() => void refetch()} />
          ) : !data ? (
            <SkeletonBlock lines={8} />
          ) : wanted === null ? (
            <KindGallery kinds={data.kinds} />
          ) : kind ? (
            <CreateForm key={kind.kind} kind={kind} />
          ) : (
            <EmptyState
              title={`The kind “${wanted}” is not installed`}
              action={<ButtonLink href={KINDS.href}>Show all kinds</ButtonLink>}
            />
          )}
        </OnlyWhoMay>
      </div>
    </>
  );
}
