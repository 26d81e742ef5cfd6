import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { answered, api, idempotencyKey, organizationPath, type Schemas } from "@/api/client";
import type { JobKind } from "@/lib/job-words";

export type Job = Schemas["JobResponse"];
export type JobState = Schemas["JobState"];

export interface JobFilter {
  states: JobState[];
  kinds: JobKind[];
  kbId: string | null;
  errorCode: string | null;
}

function parameters({ states, kinds, kbId, errorCode }: JobFilter) {
  return {
    ...(states.length > 0 && { state: states }),
    ...(kinds.length > 0 && { kind: kinds }),
    ...(kbId && { kb_id: kbId }),
    ...(errorCode && { error_code: errorCode }),
  };
}

export function jobPageQuery(filter: JobFilter, skip: number, limit: number) {
  return queryOptions({
    queryKey: ["jobs", "page", filter, skip, limit],
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/jobs", {
          params: { path: organizationPath(), query: { ...parameters(filter), skip, limit } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: 4_000,
  });
}

/** How many jobs are in a state. */
export function jobCountQuery(state: JobState) {
  return queryOptions({
    queryKey: ["jobs", "count", state],
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/jobs", {
          params: { path: organizationPath(), query: { state: [state], limit: 1 } },
          signal,
        }),
      ),
    refetchInterval: 4_000,
  });
}

export function jobQuery(jobId: string) {
  return queryOptions({
    queryKey: ["jobs", "one", jobId],
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/jobs/{job_id}", {
          params: { path: { ...organizationPath(), job_id: jobId } },
          signal,
        }),
      ),
    refetchInterval: 4_000,
  });
}

export function replayJob(jobId: string) {
  return answered(
    api.POST("/v0/orgs/{organization_id}/jobs/{job_id}/replay", {
      params: { path: { ...organizationPath(), job_id: jobId } },
      headers: idempotencyKey(),
    }),
  );
}

export function cancelJob(jobId: string) {
  return answered(
    api.POST("/v0/orgs/{organization_id}/jobs/{job_id}/cancel", {
      params: { path: { ...organizationPath(), job_id: jobId } },
      headers: idempotencyKey(),
    }),
  );
}

/** Run every dead job again that fits; without a filter, all of the organization's. */
export function replayMatching({ kinds, kbId, errorCode }: JobFilter) {
  const [kind] = kinds;
  const isNarrowed = kind !== undefined || kbId !== null || errorCode !== null;
  return answered(
    api.POST("/v0/orgs/{organization_id}/jobs/replay", {
      params: { path: organizationPath() },
      body: isNarrowed
        ? { all: false, ...(kind && { kind }), ...(kbId && { kb_id: kbId }), ...(errorCode && { error_code: errorCode }) }
        : { all: true },
      headers: idempotencyKey(),
    }),
  );
}

export interface ErrorGroup {
  code: string;
  detail: string;
  count: number;
}

/** The same error repeated is one line with its number; most frequent first. */
export function groupByError(jobs: readonly Job[]): ErrorGroup[] {
  const groups = new Map<string, ErrorGroup>();
  for (const { error } of jobs) {
    if (!error) continue;
    const group = groups.get(error.code);
    if (group) group.count += 1;
    else groups.set(error.code, { code: error.code, detail: error.detail, count: 1 });
  }
  return [...groups.values()].sort((first, second) => second.count - first.count);
}
