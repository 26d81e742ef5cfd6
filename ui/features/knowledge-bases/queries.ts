import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { answered, api, organizationPath, type Schemas } from "@/api/client";
import type { KnowledgeBase } from "@/api/queries";
import { jobKeys, kbKeys, modelKeys, reconcileKeys, usageKeys } from "@/api/keys";
import { isLive, RUN_LIVE_MILLISECONDS } from "@/components/reconcile-queries";
import type { Tone } from "@/components/state";
import { formatCount } from "@/lib/format";

import { chunkingProblem } from "./chunking-problem";

/** SPUs that each knowledge base was charged within the last 30 days. */
export function spusByBaseQuery() {
  return queryOptions({
    queryKey: usageKeys.byKb,
    queryFn: async ({ signal }) => {
      const since = new Date(Date.now() - 30 * 86_400_000).toISOString();
      const usage = await answered(
        api.GET("/v0/orgs/{organization_id}/usage", { params: { path: organizationPath(), query: { since } }, signal }),
      );
      const spus = new Map<string, number>();
      for (const item of usage.items) if (item.kb_id) spus.set(item.kb_id, (spus.get(item.kb_id) ?? 0) + item.spus);
      return spus;
    },
    staleTime: 60_000,
  });
}

/** `counted`: the knowledge base's chunks as last counted, so that the list is read anew when they change. */
export function indexedDocumentsQuery(kbId: string, skip: number, limit: number, counted: number) {
  return queryOptions({
    queryKey: kbKeys.documents(kbId, skip, limit, counted),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/knowledge-bases/{kb_id}/documents", {
          params: { path: { ...organizationPath(), kb_id: kbId }, query: { skip, limit } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
}

/** Unfinished and failed jobs of a knowledge base. */
export function baseJobsQuery(kbId: string, state: "available" | "running" | "dead") {
  return queryOptions({
    queryKey: jobKeys.ofKb(kbId, state),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/jobs", {
          params: { path: organizationPath(), query: { kb_id: kbId, state: [state], limit: 100, include: ["names"] } },
          signal,
        }),
      ),
    refetchInterval: 4_000,
  });
}

export type ListedKnowledgeBase = Schemas["ListedKnowledgeBaseResponse"];

/** The status of a listed knowledge base; failed jobs come first. */
export function listedState(base: ListedKnowledgeBase): { tone: Tone; label: string; reason: string | null } {
  if (base.given_up_jobs > 0) return { tone: "failed", label: "Needs attention", reason: base.given_up_reason };
  if (base.jobs_waiting_for_provider > 0) {
    return { tone: "waiting-for-provider", label: "Waiting for the provider", reason: base.provider_reason };
  }
  const state = baseState(base);
  if (base.failed_document_count > 0) {
    const all = base.failed_document_count + base.document_count + base.empty_document_count;
    return { tone: "failed", label: `${formatCount(base.failed_document_count)} of ${formatCount(all)} failed`, reason: null };
  }
  if (base.unfinished_jobs > 0 && state.tone !== "failed") {
    return { tone: "working", label: `Indexing, ${formatCount(base.unfinished_jobs)} to do`, reason: null };
  }
  return { ...state, reason: null };
}

export function baseState(base: KnowledgeBase): { tone: Tone; label: string } {
  switch (base.status) {
    case "active":
      return { tone: "ready", label: "Ready" };
    case "indexing":
      return { tone: "working", label: "Indexing" };
    case "error":
      return { tone: "failed", label: "Needs attention" };
    default:
      return { tone: "queued", label: base.status };
  }
}

/** Settings on the way to others (a size typed before its overlap) are not worth a refusal. */
export function problemOf(body: Schemas["ForecastBody"]): string | null {
  return chunkingProblem(body.chunk_size, body.chunk_overlap);
}

/** What indexing would need now; asking embeds and charges nothing. */
export function forecastQuery(body: Schemas["ForecastBody"]) {
  return queryOptions({
    queryKey: kbKeys.forecast(body),
    queryFn: ({ signal }) =>
      answered(api.POST("/v0/orgs/{organization_id}/knowledge-bases/forecast", { params: { path: organizationPath() }, body, signal })),
    enabled: body.tag_ids.length > 0 && problemOf(body) === null,
    placeholderData: keepPreviousData,
    // A setting that is refused is refused again.
    retry: false,
    staleTime: 30_000,
  });
}

const PREVIEWED_CHUNKS = 20;

export type Chunking = Pick<KnowledgeBase, "chunker_type" | "chunk_size" | "chunk_overlap" | "section_level" | "index_types">;

/** The first chunks that settings make of a document; nothing is stored. */
export function chunkPreviewQuery(documentId: string, chunking: Chunking) {
  const { chunker_type, chunk_size, chunk_overlap, section_level, index_types } = chunking;
  const settings = { chunker_type, chunk_size, chunk_overlap, section_level, index_types };
  const body = { document_id: documentId, ...settings, skip: 0, limit: PREVIEWED_CHUNKS };
  return queryOptions({
    queryKey: kbKeys.preview(body),
    queryFn: ({ signal }) =>
      answered(api.POST("/v0/orgs/{organization_id}/chunk-preview", { params: { path: organizationPath() }, body, signal })),
    enabled: chunkingProblem(chunk_size, chunk_overlap) === null,
    retry: false,
    staleTime: 30_000,
  });
}

export function embeddingModelsQuery() {
  return queryOptions({
    queryKey: modelKeys.embedding,
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/models", {
          params: { path: organizationPath(), query: { kind: "embedding", limit: 100 } },
          signal,
        }),
      ),
    staleTime: 60_000,
  });
}

const SHOWN_RUNS = 20;

export function reconcileRunsQuery(kbId: string) {
  return queryOptions({
    queryKey: reconcileKeys.runsOfKb(kbId),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/reconcile/runs", {
          params: { path: organizationPath(), query: { kb_id: kbId, limit: SHOWN_RUNS } },
          signal,
        }),
      ),
    refetchInterval: (query) => (query.state.data?.runs.some(isLive) ? RUN_LIVE_MILLISECONDS : 15_000),
  });
}
