import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { answered, api, idempotencyKey, organizationPath, type Schemas } from "@/api/client";
import { ApiError } from "@/api/errors";
import { sourceKeys } from "@/api/keys";

export type Source = Schemas["SourceList"]["sources"][number];
export type SourceKind = Schemas["SourceKindResponse"];
export type Run = Schemas["SourceRunResponse"];
export type RunDetail = Schemas["SourceRunDetail"];
export type RunItem = Schemas["SourceRunEntryResponse"];
export type Outcome = Schemas["ItemOutcome"];
export type Item = Schemas["SourceItemResponse"];
export type SourceBody = Schemas["SourceCreate"];
export type TestResult = Schemas["SourceCheckResponse"];
export type ItemAccess = Schemas["ItemAccessResponse"];
export type InboundAddress = Schemas["InboundAddressResponse"];
export type ExportFormat = Schemas["ExportFormat"];

export const ROWS = 50;
const LIVE_MILLISECONDS = 1_000;
/** Interval while nothing runs: a schedule may start a run. */
const QUIET_MILLISECONDS = 10_000;

export function isLive(run: Pick<Run, "ended_at"> | null | undefined): boolean {
  return Boolean(run) && run?.ended_at === null;
}

/** True for a source that lists nothing by itself: programs push its items, and there is nothing to run. */
export function isPushOnly({ kind }: Pick<Source, "kind">): boolean {
  return kind === "push";
}

const every = (isAnyLive: boolean) => (isAnyLive ? LIVE_MILLISECONDS : QUIET_MILLISECONDS);
const sourcePath = (sourceId: string) => ({ ...organizationPath(), source_id: sourceId });
const runPath = (sourceId: string, runId: string) => ({ ...sourcePath(sourceId), source_run_id: runId });

/** The installed kinds: they change with the server's installation only. */
export function sourceKindsQuery() {
  return queryOptions({
    queryKey: sourceKeys.kinds,
    queryFn: ({ signal }) => answered(api.GET("/v0/orgs/{organization_id}/source-kinds", { params: { path: organizationPath() }, signal })),
    staleTime: 300_000,
  });
}

export function sourceListQuery(nameSearch: string, skip: number, limit: number) {
  return queryOptions({
    queryKey: sourceKeys.list(nameSearch, skip, limit),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/sources", {
          params: { path: organizationPath(), query: { skip, limit, ...(nameSearch && { name_search: nameSearch }) } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: (query) => every(query.state.data?.sources.some((source) => isLive(source.last_run)) ?? false),
  });
}

/** Begin a sign-in at the source's service; return the address where the person consents. */
export async function beginSignIn(sourceId: string): Promise<string> {
  const path = sourcePath(sourceId);
  const begun = await answered(api.POST("/v0/orgs/{organization_id}/sources/{source_id}/authorization", { params: { path } }));
  return begun.url;
}

export function sourceQuery(sourceId: string) {
  return queryOptions({
    queryKey: sourceKeys.one(sourceId),
    queryFn: ({ signal }) =>
      answered(api.GET("/v0/orgs/{organization_id}/sources/{source_id}", { params: { path: sourcePath(sourceId) }, signal })),
    refetchInterval: (query) => every(isLive(query.state.data?.last_run)),
  });
}

/** `isRunning`: the counts of the newest run change. */
export function runsQuery(sourceId: string, skip: number, isRunning: boolean) {
  return queryOptions({
    queryKey: sourceKeys.runs(sourceId, skip),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/sources/{source_id}/runs", {
          params: { path: sourcePath(sourceId), query: { skip, limit: ROWS } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: (query) => every(isRunning || (query.state.data?.runs.some(isLive) ?? false)),
  });
}

export function runQuery(sourceId: string, runId: string) {
  return queryOptions({
    queryKey: sourceKeys.run(runId),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/sources/{source_id}/runs/{source_run_id}", {
          params: { path: runPath(sourceId, runId) },
          signal,
        }),
      ),
    refetchInterval: (query) => (isLive(query.state.data) ? LIVE_MILLISECONDS : false),
  });
}

/** `counted`: the run's items so far, so that the list is read anew when there are more. */
export function outcomesQuery(run: Pick<Run, "source_id" | "source_run_id">, outcome: Outcome | null, skip: number, counted: number) {
  return queryOptions({
    queryKey: sourceKeys.outcomes(run.source_run_id, outcome, skip, counted),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/sources/{source_id}/runs/{source_run_id}/items", {
          params: {
            path: runPath(run.source_id, run.source_run_id),
            query: { skip, limit: ROWS, ...(outcome !== null && { outcome: [outcome] }) },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
}

export interface ItemFilter {
  search: string;
  hasProblem: boolean;
}

export function itemsQuery(sourceId: string, { search, hasProblem }: ItemFilter, skip: number) {
  return queryOptions({
    queryKey: sourceKeys.items(sourceId, { search, hasProblem }, skip),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/sources/{source_id}/items", {
          params: {
            path: sourcePath(sourceId),
            query: { skip, limit: ROWS, ...(search && { name_search: search }), ...(hasProblem && { has_problem: true }) },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: QUIET_MILLISECONDS,
  });
}

/** Connect and list the first items; nothing is stored. `changedAt`: other settings are another test. */
export function testQuery(sourceId: string, changedAt: string) {
  return queryOptions({
    queryKey: sourceKeys.test(sourceId, changedAt),
    queryFn: ({ signal }) =>
      answered(api.POST("/v0/orgs/{organization_id}/sources/{source_id}/test", { params: { path: sourcePath(sourceId) }, signal })),
    // Each opening of the dialog connects once.
    staleTime: 0,
    gcTime: 0,
    retry: false,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
}

/** Connect with settings that are not stored yet. */
export function testNewSource(body: SourceBody) {
  return answered(api.POST("/v0/orgs/{organization_id}/sources/test", { params: { path: organizationPath() }, body }));
}

export function createSource(body: SourceBody) {
  return answered(
    api.POST("/v0/orgs/{organization_id}/sources", { params: { path: organizationPath() }, body, headers: idempotencyKey() }),
  );
}

export function changeSource(sourceId: string, body: Schemas["SourceUpdate"]) {
  return answered(api.PUT("/v0/orgs/{organization_id}/sources/{source_id}", { params: { path: sourcePath(sourceId) }, body }));
}

export function deleteSource(sourceId: string, documents: "keep" | "delete") {
  return answered(
    api.DELETE("/v0/orgs/{organization_id}/sources/{source_id}", { params: { path: sourcePath(sourceId), query: { documents } } }),
  );
}

export function startRun(sourceId: string, body: Partial<Schemas["SourceRunCreate"]>) {
  return answered(
    api.POST("/v0/orgs/{organization_id}/sources/{source_id}/runs", {
      params: { path: sourcePath(sourceId) },
      body: { dry_run: false, accepts_losses: false, full: false, ...body },
      headers: idempotencyKey(),
    }),
  );
}

export function cancelRun({ source_id: sourceId, source_run_id: runId }: Pick<Run, "source_id" | "source_run_id">) {
  return answered(
    api.POST("/v0/orgs/{organization_id}/sources/{source_id}/runs/{source_run_id}/cancel", {
      params: { path: runPath(sourceId, runId) },
    }),
  );
}

/** The documents of a source as a file. */
export async function exportSource(sourceId: string, format: ExportFormat): Promise<Blob> {
  const call = api.GET("/v0/orgs/{organization_id}/sources/{source_id}/export", {
    params: { path: sourcePath(sourceId), query: { format } },
    parseAs: "blob",
  });
  return (await answered<unknown>(call)) as Blob;
}

/** The inbound address of a source that has one; null: it is closed since. */
export function inboundQuery(sourceId: string) {
  return queryOptions({
    queryKey: sourceKeys.inbound(sourceId),
    queryFn: async ({ signal }): Promise<InboundAddress | null> => {
      try {
        return await answered(
          api.GET("/v0/orgs/{organization_id}/sources/{source_id}/inbound", { params: { path: sourcePath(sourceId) }, signal }),
        );
      } catch (error) {
        if (error instanceof ApiError && error.code === "no_inbound_address") return null;
        throw error;
      }
    },
    // A service sends its token, and programs push, while somebody looks.
    refetchInterval: (query) => (query.state.data ? QUIET_MILLISECONDS : false),
  });
}

/** Open the address, or give an open one a further secret. */
export function openInbound(sourceId: string, body: Schemas["InboundOpening"]) {
  return answered(
    api.POST("/v0/orgs/{organization_id}/sources/{source_id}/inbound", {
      params: { path: sourcePath(sourceId) },
      body,
      headers: idempotencyKey(),
    }),
  );
}

export function closeInbound(sourceId: string) {
  return answered(api.DELETE("/v0/orgs/{organization_id}/sources/{source_id}/inbound", { params: { path: sourcePath(sourceId) } }));
}
