"use client";

import { useQuery } from "@tanstack/react-query";
import { parseAsInteger, parseAsString, useQueryStates } from "nuqs";

import { answered, api, idempotencyKey, organizationPath } from "@/api/client";
import { knowledgeBaseQuery } from "@/api/queries";
import { ErrorState } from "@/components/feedback";
import { May } from "@/components/may";
import { Pager } from "@/components/pager";
import type { Run } from "@/components/reconcile-queries";
import { ReconcileRuns } from "@/components/reconcile-runs";
import { useLastPage } from "@/state/use-last-page";

import { reconcileRunsQuery, REPORTS_A_PAGE } from "./queries";

/** Whether all of the organization is as it should be: passes and runs, what they found, and having one look now. */
export function Reports() {
  const [url, setUrl] = useQueryStates({ run: parseAsString, page: parseAsInteger.withDefault(1) }, { history: "push" });
  const page = Math.max(1, url.page);
  const { data, error, refetch } = useQuery(reconcileRunsQuery((page - 1) * REPORTS_A_PAGE));
  useLastPage(page, data?.total_count, REPORTS_A_PAGE, (last) => setUrl({ page: last }, { history: "replace" }));
  if (error && !data) return <ErrorState error={error} retry={() => void refetch()} />;
  return (
    <>
      <ReconcileRuns
        label="Reports"
        operation="create_reconcile_run"
        explanation="Checks every document and knowledge base of the organization."
        runs={data?.runs}
        chosen={url.run}
        empty={{
          title: "No reports yet",
          text: (
            <>
              Regular checks are listed here when they find a problem.<May to="create_reconcile_run"> To check now, start a dry run.</May>
            </>
          ),
        }}
        start={(isDry) =>
          answered(
            api.POST("/v0/orgs/{organization_id}/reconcile", {
              params: { path: organizationPath() },
              body: { depth: "full", dry_run: isDry, rebuild_cache: false },
              headers: idempotencyKey(),
            }),
          )
        }
        subjectOf={(run) => <Subject run={run} />}
        onShow={(runId) => void setUrl({ run: runId })}
        onStarted={(runId) => void setUrl({ run: runId, page: 1 })}
      />
      {data && data.total_count > REPORTS_A_PAGE && (
        <Pager
          skip={data.skip}
          shown={data.runs.length}
          total={data.total_count}
          page={page}
          pageCount={Math.ceil(data.total_count / REPORTS_A_PAGE)}
          onPage={(next) => void setUrl({ page: next, run: null })}
        />
      )}
    </>
  );
}

function Subject({ run }: { run: Run }) {
  const base = useQuery({ ...knowledgeBaseQuery(run.kb_id ?? ""), enabled: run.kb_id !== null, retry: false, staleTime: 60_000 });
  if (run.kb_id === null) return "The organization";
  return base.data?.name ?? (base.error ? "A deleted knowledge base" : "…");
}
