import { queryOptions } from "@tanstack/react-query";

import { answered, api, organizationPath, type Schemas } from "@/api/client";
import { reconcileKeys } from "@/api/keys";

export type Run = Schemas["ReconcileRunResponse"];

export const RUN_LIVE_MILLISECONDS = 1_000;

export function isLive(run: Run | undefined): boolean {
  return run?.state === "queued" || run?.state === "running";
}

export function reportQuery(runId: string) {
  return queryOptions({
    queryKey: reconcileKeys.report(runId),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/reconcile/runs/{reconcile_run_id}", {
          params: { path: { ...organizationPath(), reconcile_run_id: runId } },
          signal,
        }),
      ),
    refetchInterval: (query) => (isLive(query.state.data) ? RUN_LIVE_MILLISECONDS : false),
  });
}
