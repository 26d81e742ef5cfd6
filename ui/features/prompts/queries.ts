import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { answered, api, organizationPath, type Schemas } from "@/api/client";
import { documentKeys, jobKeys, modelKeys, promptKeys } from "@/api/keys";

export type Prompt = Schemas["PromptResponse"];
export type ListedPrompt = Schemas["ListedPromptResponse"];
export type PromptVersion = Schemas["PromptVersionResponse"];
export type Run = Schemas["PromptRunResponse"];
export type RunDetail = Schemas["PromptRunDetail"];
export type RunStatus = Schemas["RunStatus"];
export type RunStep = Schemas["RunStepResponse"];
export type RunPassage = Schemas["RunPassageResponse"];
export type Result = Schemas["PromptResultResponse"];
export type Model = Schemas["ModelResponse"];

export const runKeys = {
  all: ["runs"] as const,
  list: (...page: unknown[]) => ["runs", "list", ...page] as const,
  one: (runId: string) => ["runs", "one", runId] as const,
};

export const resultKeys = {
  all: ["results"] as const,
  list: (...page: unknown[]) => ["results", "list", ...page] as const,
  one: (promptId: string, version: number, documentId: string) => ["results", "one", promptId, version, documentId] as const,
  earlier: (promptId: string, before: number) => ["results", "earlier", promptId, before] as const,
  byDocument: (promptId: string, version: number) => ["results", "by-document", promptId, version] as const,
};

export const LIVE_MILLISECONDS = 3_000;
export const QUIET_MILLISECONDS = 15_000;
const PAGE = 100;
/** Results that are looked through for what a run would replace; who runs on more is told how many were looked at. */
export const MOST_COMPARED = 1_000;

export function promptListQuery(nameSearch: string, skip: number, limit: number) {
  return queryOptions({
    queryKey: promptKeys.list(nameSearch, skip, limit),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/prompts", {
          params: {
            path: organizationPath(),
            query: { skip, limit, include: ["kb_name", "last_run"], ...(nameSearch && { name_search: nameSearch }) },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: (query) =>
      query.state.data?.prompts.some(({ last_run: run }) => run !== null && isUnfinished(run)) ? LIVE_MILLISECONDS : QUIET_MILLISECONDS,
  });
}

function ofPrompt(promptId: string) {
  return { ...organizationPath(), prompt_id: promptId };
}

export function promptQuery(promptId: string) {
  return queryOptions({
    queryKey: promptKeys.one(promptId),
    queryFn: ({ signal }) =>
      answered(api.GET("/v0/orgs/{organization_id}/prompts/{prompt_id}", { params: { path: ofPrompt(promptId) }, signal })),
    enabled: promptId !== "",
  });
}

/** Every version, latest first. */
export function versionsQuery(promptId: string) {
  return queryOptions({
    queryKey: promptKeys.versions(promptId),
    queryFn: async ({ signal }) => {
      const versions: PromptVersion[] = [];
      for (;;) {
        const page = await answered(
          api.GET("/v0/orgs/{organization_id}/prompts/{prompt_id}/versions", {
            params: { path: ofPrompt(promptId), query: { skip: versions.length, limit: PAGE } },
            signal,
          }),
        );
        versions.push(...page.versions);
        if (page.versions.length === 0 || versions.length >= page.total_count) return versions;
      }
    },
    enabled: promptId !== "",
  });
}

export interface RunFilter {
  promptId: string;
  documentId?: string;
  statuses?: readonly RunStatus[];
}

export function runsQuery({ promptId, documentId, statuses = [] }: RunFilter, skip: number, limit: number) {
  return queryOptions({
    queryKey: runKeys.list(promptId, documentId ?? "", statuses.join(), skip, limit),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/runs", {
          params: {
            path: organizationPath(),
            query: {
              prompt_id: promptId,
              skip,
              limit,
              ...(documentId && { document_id: documentId }),
              ...(statuses.length > 0 && { status: [...statuses] }),
            },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: (query) => (query.state.data?.runs.some(isUnfinished) ? LIVE_MILLISECONDS : QUIET_MILLISECONDS),
  });
}

export function isUnfinished(run: Pick<Run, "status">): boolean {
  return run.status === "queued" || run.status === "running";
}

export function runQuery(runId: string) {
  return queryOptions({
    queryKey: runKeys.one(runId),
    queryFn: ({ signal }) =>
      answered(api.GET("/v0/orgs/{organization_id}/runs/{run_id}", { params: { path: { ...organizationPath(), run_id: runId } }, signal })),
    enabled: runId !== "",
    refetchInterval: (query) => (query.state.data && isUnfinished(query.state.data) ? LIVE_MILLISECONDS : false),
  });
}

export interface ResultFilter {
  promptId: string;
  version: number;
  isVerified: boolean | null;
}

export function resultsQuery({ promptId, version, isVerified }: ResultFilter, skip: number, limit: number) {
  return queryOptions({
    queryKey: resultKeys.list(promptId, version, isVerified, skip, limit),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/prompts/{prompt_id}/results", {
          params: { path: ofPrompt(promptId), query: { version, skip, limit, ...(isVerified !== null && { is_verified: isVerified }) } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: QUIET_MILLISECONDS,
  });
}

/** How many earlier versions are looked through for results. */
const MOST_VERSIONS = 20;

/** The latest version before `before` that has results, with their number; null where none has. */
export function earlierResultsQuery(promptId: string, before: number) {
  return queryOptions({
    queryKey: resultKeys.earlier(promptId, before),
    queryFn: async ({ signal }) => {
      const count = async (version: number, isVerified?: boolean) => {
        const query = { version, limit: 1, ...(isVerified !== undefined && { is_verified: isVerified }) };
        const page = await answered(
          api.GET("/v0/orgs/{organization_id}/prompts/{prompt_id}/results", { params: { path: ofPrompt(promptId), query }, signal }),
        );
        return page.total_count;
      };
      for (let version = before - 1; version >= Math.max(1, before - MOST_VERSIONS); version -= 1) {
        const total = await count(version);
        if (total > 0) return { version, total, verified: await count(version, true) };
      }
      return null;
    },
  });
}

/** By document, the results of a version that a run would replace; the first MOST_COMPARED of them. */
export function replacedQuery(promptId: string, version: number) {
  return queryOptions({
    queryKey: resultKeys.byDocument(promptId, version),
    queryFn: async ({ signal }) => {
      const byDocument = new Map<string, Result>();
      for (let skip = 0; skip < MOST_COMPARED; skip += PAGE) {
        const page = await answered(
          api.GET("/v0/orgs/{organization_id}/prompts/{prompt_id}/results", {
            params: { path: ofPrompt(promptId), query: { version, skip, limit: PAGE } },
            signal,
          }),
        );
        for (const result of page.results) byDocument.set(result.document_id, result);
        if (skip + PAGE >= page.total_count) break;
      }
      return byDocument;
    },
  });
}

export function documentChoiceQuery(nameSearch: string, tagIds: readonly string[], skip: number, limit: number) {
  return queryOptions({
    queryKey: documentKeys.list("for-run", nameSearch, tagIds.join(), skip, limit),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/documents", {
          params: {
            path: organizationPath(),
            query: {
              skip,
              limit,
              state: ["extracted"],
              sort: "document_name",
              ...(nameSearch && { name_search: nameSearch }),
              ...(tagIds.length > 0 && { tag_ids: tagIds.join(",") }),
            },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
}

export function chatModelsQuery(nameSearch: string) {
  return queryOptions({
    queryKey: modelKeys.chatNamed(nameSearch),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/models", {
          params: { path: organizationPath(), query: { kind: "chat", limit: 50, ...(nameSearch && { name_search: nameSearch }) } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  });
}

export function resultQuery(promptId: string, version: number, documentId: string) {
  return queryOptions({
    queryKey: resultKeys.one(promptId, version, documentId),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/prompts/{prompt_id}/results/{document_id}", {
          params: { path: { ...ofPrompt(promptId), document_id: documentId }, query: { version } },
          signal,
        }),
      ),
    retry: false,
  });
}

/** The jobs of runs that wait: a run itself tells only how it ended. */
export function waitingRunsQuery() {
  return queryOptions({
    queryKey: jobKeys.ofRuns,
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/jobs", {
          params: { path: organizationPath(), query: { kind: ["run_prompt"], state: ["available"], limit: 100 } },
          signal,
        }),
      ),
    refetchInterval: LIVE_MILLISECONDS,
  });
}
