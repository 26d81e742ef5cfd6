import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { answered, api, idempotencyKey, organizationPath, type Schemas } from "@/api/client";
import { jobKeys, reconcileKeys } from "@/api/keys";
import { isLive, RUN_LIVE_MILLISECONDS } from "@/components/reconcile-queries";
import type { JobKind } from "@/lib/job-words";

export type Job = Schemas["JobResponse"];
export type ListedJob = Schemas["ListedJobResponse"];
export type JobState = Schemas["JobState"];

const backupKeys = { page: (skip: number) => ["backups", skip] as const };
const workerKeys = { all: ["workers"] as const };

export const REPORTS_A_PAGE = 20;
export const BACKUPS_A_PAGE = 20;
const BACKUP_RUNNING_MILLISECONDS = 4_000;

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
    queryKey: jobKeys.page(filter, skip, limit),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/jobs", {
          params: { path: organizationPath(), query: { ...parameters(filter), skip, limit, include: ["names"] } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: 4_000,
  });
}

export function jobQuery(jobId: string) {
  return queryOptions({
    queryKey: jobKeys.one(jobId),
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

/** Stop every waiting or running job that fits; without a filter, all of the organization's but those that delete. */
export function cancelMatching({ states, kinds, kbId, errorCode }: JobFilter) {
  const [kind] = kinds;
  const [state] = states;
  const isNarrowed = kind !== undefined || kbId !== null || errorCode !== null;
  return answered(
    api.POST("/v0/orgs/{organization_id}/jobs/cancel", {
      params: { path: organizationPath() },
      body: {
        all: !isNarrowed,
        ...(kind && { kind }),
        ...(kbId && { kb_id: kbId }),
        ...(errorCode && { error_code: errorCode }),
        ...((state === "available" || state === "running") && { state }),
      },
      headers: idempotencyKey(),
    }),
  );
}

/** The queue by kind, of this organization. */
export function jobCountsQuery() {
  return queryOptions({
    queryKey: jobKeys.counts,
    queryFn: ({ signal }) => answered(api.GET("/v0/orgs/{organization_id}/jobs/counts", { params: { path: organizationPath() }, signal })),
    refetchInterval: 4_000,
  });
}

/** The failed jobs of a filter by error, with their number. */
export function jobErrorsQuery({ kinds, kbId }: Pick<JobFilter, "kinds" | "kbId">) {
  return queryOptions({
    queryKey: jobKeys.errors(kinds, kbId),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/jobs/errors", {
          params: {
            path: organizationPath(),
            query: { ...(kinds.length > 0 && { kind: kinds }), ...(kbId && { kb_id: kbId }) },
          },
          signal,
        }),
      ),
    refetchInterval: 10_000,
  });
}

export function reconcileRunsQuery(skip: number) {
  return queryOptions({
    queryKey: reconcileKeys.runs(skip),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/reconcile/runs", {
          params: { path: organizationPath(), query: { skip, limit: REPORTS_A_PAGE } },
          signal,
        }),
      ),
    refetchInterval: (query) => (query.state.data?.runs.some(isLive) ? RUN_LIVE_MILLISECONDS : 15_000),
  });
}

export function backupsQuery(skip: number) {
  return queryOptions({
    queryKey: backupKeys.page(skip),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/backups", {
          params: { path: organizationPath(), query: { skip, limit: BACKUPS_A_PAGE } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: (query) =>
      query.state.data?.backups.some((backup) => backup.outcome === "running") ? BACKUP_RUNNING_MILLISECONDS : 60_000,
  });
}

export function workersQuery() {
  return queryOptions({
    queryKey: workerKeys.all,
    queryFn: ({ signal }) => answered(api.GET("/v0/orgs/{organization_id}/workers", { params: { path: organizationPath() }, signal })),
    refetchInterval: 4_000,
  });
}
