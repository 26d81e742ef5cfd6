import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { answered, api, idempotencyKey, organizationPath, type Schemas } from "@/api/client";
import type { JobKind } from "@/lib/job-words";

export type Job = Schemas["JobResponse"];
export type ListedJob = Schemas["ListedJobResponse"];
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
    queryKey: ["jobs", "counts"],
    queryFn: ({ signal }) => answered(api.GET("/v0/orgs/{organization_id}/jobs/counts", { params: { path: organizationPath() }, signal })),
    refetchInterval: 4_000,
  });
}

type ErrorGroup = Schemas["JobErrorResponse"];

/** All dead jobs that fit, by error: the same error repeated is one line with its number. */
export function jobErrorsQuery({ kinds, kbId }: Pick<JobFilter, "kinds" | "kbId">) {
  return queryOptions({
    queryKey: ["jobs", "errors", kinds, kbId],
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
