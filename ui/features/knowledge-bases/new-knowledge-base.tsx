"use client";

import { useQuery } from "@tanstack/react-query";
import dynamic from "next/dynamic";
import { parseAsString, useQueryState } from "nuqs";

import { knowledgeBaseQuery } from "@/api/queries";
import { ErrorState, SkeletonBlock } from "@/components/feedback";
import { OnlyWhoMay } from "@/components/may";
import { PageHead } from "@/components/page-head";

const CreateForm = dynamic(() => import("./create-form").then((module) => module.CreateForm), {
  ssr: false,
  loading: () => <SkeletonBlock lines={8} />,
});

const PARENT = { href: "/kbs/", label: "Knowledge bases" };

/** A new knowledge base, or a clone: the same tags with other settings. */
export function NewKnowledgeBase() {
  const [from] = useQueryState("from", parseAsString);
  const original = useQuery({ ...knowledgeBaseQuery(from ?? ""), enabled: from !== null });
  if (from !== null && original.error) {
    return (
      <>
        <PageHead title="New knowledge base" parent={PARENT} />
        <ErrorState error={original.error} retry={() => void original.refetch()} title="The knowledge base to clone could not be loaded" />
      </>
    );
  }
  return (
    <>
      <PageHead title={from === null ? "New knowledge base" : `Clone ${original.data?.name ?? ""}`} parent={PARENT} />
      <div className="min-h-0 flex-1 overflow-auto">
        <OnlyWhoMay to="create_knowledge_base" what="create knowledge bases">
          {from !== null && !original.data ? <SkeletonBlock lines={8} /> : <CreateForm original={original.data} />}
        </OnlyWhoMay>
      </div>
    </>
  );
}
