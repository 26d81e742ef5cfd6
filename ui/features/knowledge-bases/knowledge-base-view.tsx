"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Copy, ScanSearch, Trash2 } from "lucide-react";
import dynamic from "next/dynamic";
import Link from "next/link";
import { useRouter } from "next/navigation";
import { parseAsInteger, parseAsString, parseAsStringLiteral, useQueryStates } from "nuqs";
import { useState } from "react";
import { toast } from "sonner";

import { answered, api, organizationPath } from "@/api/client";
import { type KnowledgeBase, knowledgeBaseQuery } from "@/api/queries";
import { kbKeys, promptKeys } from "@/api/keys";
import { ConfirmDialog } from "@/components/ui/dialog";
import { EmptyState, ErrorState, SkeletonBlock, tellFailure } from "@/components/feedback";
import { May } from "@/components/may";
import { PageHead } from "@/components/page-head";
import { deletionWord, PromptUsesNote, usePromptUses } from "@/components/prompt-uses";
import { State } from "@/components/state";
import { Tabs } from "@/components/tabs";
import { Button, ButtonLink } from "@/components/ui/button";
import { FailedInBase } from "@/features/documents/failed-documents";
import { formatCount, plural } from "@/lib/format";
import { useWayBack } from "@/state/list-place";

import { BaseChunks } from "./base-chunks";
import { BaseDocuments } from "./base-documents";
import { BaseHealth } from "./base-health";
import { baseJobsQuery, baseState } from "./queries";

const BaseSettings = dynamic(() => import("./base-settings").then((module) => module.BaseSettings), {
  ssr: false,
  loading: () => <SkeletonBlock lines={8} />,
});

/** The list, as it was left. */
function useParent() {
  const { href, take } = useWayBack("/kbs/");
  return { href, label: "Knowledge bases", onFollow: take };
}

const TABS = ["documents", "chunks", "health", "settings"] as const;

export function KnowledgeBaseView() {
  const parent = useParent();
  const [url, setUrl] = useQueryStates({
    id: parseAsString.withDefault(""),
    tab: parseAsStringLiteral(TABS).withDefault("documents"),
    page: parseAsInteger.withDefault(1),
  });
  const { data, error, refetch } = useQuery({
    ...knowledgeBaseQuery(url.id),
    enabled: url.id !== "",
    refetchInterval: (query) => (query.state.data?.status === "indexing" ? 3_000 : 15_000),
  });
  if (url.id === "" || (error && !data)) {
    return (
      <>
        <PageHead title="Knowledge base" parent={parent} />
        {error ? <ErrorState error={error} retry={() => void refetch()} /> : <EmptyState title="No knowledge base selected" />}
      </>
    );
  }
  if (!data) {
    return (
      <>
        <PageHead title="Knowledge base" parent={parent} />
        <SkeletonBlock lines={8} />
      </>
    );
  }
  return (
    <>
      <Head base={data} />
      <FailedInBase base={data} />
      <Tabs
        label="Knowledge base"
        current={url.tab}
        tabs={[
          { id: "documents", label: `Documents ${formatCount(data.document_count)}`, href: `/kbs/view/?id=${url.id}` },
          { id: "chunks", label: `Chunks ${formatCount(data.chunk_count)}`, href: `/kbs/view/?id=${url.id}&tab=chunks` },
          { id: "health", label: "Health", href: `/kbs/view/?id=${url.id}&tab=health` },
          { id: "settings", label: "Settings", href: `/kbs/view/?id=${url.id}&tab=settings` },
        ]}
      />
      {url.tab === "documents" ? (
        <BaseDocuments
          base={data}
          page={Math.max(1, url.page)}
          onPage={(page) => void setUrl({ page }, { history: "push" })}
          onLastPage={(page) => void setUrl({ page }, { history: "replace" })}
        />
      ) : url.tab === "chunks" ? (
        <BaseChunks base={data} />
      ) : url.tab === "health" ? (
        <BaseHealth base={data} />
      ) : (
        <BaseSettings key={data.updated_at} base={data} />
      )}
    </>
  );
}

function Head({ base }: { base: KnowledgeBase }) {
  const parent = useParent();
  const router = useRouter();
  const client = useQueryClient();
  const [isDeleting, setDeleting] = useState(false);
  const uses = usePromptUses(isDeleting ? { kbId: base.kb_id } : null);
  const waiting = useQuery(baseJobsQuery(base.kb_id, "available"));
  const running = useQuery(baseJobsQuery(base.kb_id, "running"));
  const dead = useQuery(baseJobsQuery(base.kb_id, "dead"));
  const left = (waiting.data?.total_count ?? 0) + (running.data?.total_count ?? 0);
  const state = baseState(base);
  const remove = useMutation({
    mutationFn: (onUse: "detach" | "refuse") =>
      answered(
        api.DELETE("/v0/orgs/{organization_id}/knowledge-bases/{kb_id}", {
          params: { path: { ...organizationPath(), kb_id: base.kb_id }, query: { on_use: onUse } },
        }),
      ),
    onSuccess: async () => {
      toast(`${base.name} deleted`);
      parent.onFollow();
      router.replace(parent.href);
      client.removeQueries({ queryKey: kbKeys.one(base.kb_id) });
      await client.invalidateQueries({ queryKey: kbKeys.lists });
      await client.invalidateQueries({ queryKey: promptKeys.all });
    },
    onError: (error) => tellFailure("The knowledge base was not deleted", error),
  });
  return (
    <PageHead
      title={base.name}
      parent={parent}
      aside={
        <span className="flex items-center gap-3 max-md:basis-full">
          {dead.data && dead.data.total_count > 0 ? (
            <Link href={`/operations/?state=dead&kb=${base.kb_id}`} className="hover:underline">
              <State tone="failed">{plural(dead.data.total_count, "failed job")}</State>
            </Link>
          ) : (
            <State tone={base.failed_document_count > 0 ? "failed" : left > 0 && state.tone === "ready" ? "working" : state.tone}>
              {base.failed_document_count > 0 && left === 0
                ? `${formatCount(base.failed_document_count)} failed`
                : left > 0
                  ? `Indexing, ${formatCount(left)}${waiting.data?.total_count_is_at_least ? "+" : ""} to do`
                  : state.label}
            </State>
          )}
          <span className="text-text-3">{plural(base.chunk_count, "chunk")}</span>
        </span>
      }
    >
      <ButtonLink href={`/search/?kb=${base.kb_id}`} variant="primary">
        <ScanSearch aria-hidden size={14} /> Search it
      </ButtonLink>
      <May to="create_knowledge_base">
        <ButtonLink href={`/kbs/new/?from=${base.kb_id}`}>
          <Copy aria-hidden size={14} /> <span className="max-md:sr-only">Clone</span>
        </ButtonLink>
      </May>
      <May to="delete_knowledge_base">
        <Button isIcon className="text-failed" aria-label="Delete the knowledge base" title="Delete" onClick={() => setDeleting(true)}>
          <Trash2 aria-hidden size={14} />
        </Button>
      </May>
      <ConfirmDialog
        open={isDeleting}
        onOpenChange={setDeleting}
        title={`Delete ${base.name}?`}
        action={deletionWord(uses, "Delete the knowledge base")}
        typed={base.name}
        onConfirm={() => remove.mutate(uses && uses.count > 0 ? "detach" : "refuse")}
      >
        You can no longer search it, and its {plural(base.chunk_count, "chunk")} are removed. The documents stay. This cannot be undone.
        <PromptUsesNote uses={uses} />
      </ConfirmDialog>
    </PageHead>
  );
}
