"use client";

import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { parseAsInteger, parseAsString, useQueryStates } from "nuqs";

import { answered, api, idempotencyKey, organizationPath } from "@/api/client";
import { knowledgeBaseQuery } from "@/api/queries";
import { EmptyState, ErrorState, SkeletonBlock } from "@/components/feedback";
import { May } from "@/components/may";
import { Pager } from "@/components/pager";
import { Banner } from "@/components/state";
import { Time } from "@/components/time";
import { isLive, Report, type Run, RunState } from "@/features/knowledge-bases/base-health";

const PAGE = 20;
const LIVE_MILLISECONDS = 1_000;

function runsQuery(skip: number) {
  return queryOptions({
    queryKey: ["reconcile", "runs", "all", skip],
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/reconcile/runs", {
          params: { path: organizationPath(), query: { skip, limit: PAGE } },
          signal,
        }),
      ),
    refetchInterval: (query) => (query.state.data?.runs.some(isLive) ? LIVE_MILLISECONDS : 15_000),
  });
}

/** Whether all of the organization is as it should be: passes and runs, what they found, and having one look now. */
export function Reports() {
  const client = useQueryClient();
  const [url, setUrl] = useQueryStates({ run: parseAsString, page: parseAsInteger.withDefault(1) }, { history: "push" });
  const page = Math.max(1, url.page);
  const { data, error, refetch } = useQuery(runsQuery((page - 1) * PAGE));
  const start = useMutation({
    mutationFn: (isDry: boolean) =>
      answered(
        api.POST("/v0/orgs/{organization_id}/reconcile", {
          params: { path: organizationPath() },
          body: { depth: "full", dry_run: isDry, rebuild_cache: false },
          headers: idempotencyKey(),
        }),
      ),
    onSuccess: async (run) => {
      void setUrl({ run: run.run_id, page: 1 });
      await client.invalidateQueries({ queryKey: ["reconcile"] });
    },
  });
  if (error && !data) return <ErrorState error={error} retry={() => void refetch()} />;
  const runs = data?.runs ?? [];
  const shown = url.run ?? runs[0]?.run_id ?? null;
  const isBusy = start.isPending || runs.some(isLive);
  return (
    <>
      <div className="min-h-0 flex-1 overflow-auto" role="region" aria-label="Reports" tabIndex={0}>
        <div className="flex max-w-[960px] flex-col gap-4 p-4">
          <May to="create_reconcile_run">
            <div className="flex flex-wrap items-center gap-2">
              <button type="button" className="button" disabled={isBusy} onClick={() => start.mutate(true)}>
                Dry run
              </button>
              <button type="button" className="button button-primary" disabled={isBusy} onClick={() => start.mutate(false)}>
                Run now
              </button>
              <span className="text-text-2">
                Every document and knowledge base of the organization is looked at. A dry run only tells; Run now has it mended.
              </span>
            </div>
          </May>
          {start.error && <Banner tone="failed">{start.error.message}</Banner>}
          {!data ? (
            <SkeletonBlock lines={4} />
          ) : shown === null ? (
            <EmptyState title="No reports yet">
              Passes run by themselves, and are listed here when they find something<May to="create_reconcile_run">; a dry run tells now</May>.
            </EmptyState>
          ) : (
            <Report key={shown} runId={shown} />
          )}
          {runs.length > 0 && (
            <section>
              <h2 className="mb-1 text-lg font-semibold">Runs</h2>
              <ul>
                {runs.map((run) => (
                  <li key={run.run_id}>
                    <RunRow run={run} isShown={run.run_id === shown} onShow={() => void setUrl({ run: run.run_id })} />
                  </li>
                ))}
              </ul>
            </section>
          )}
        </div>
      </div>
      {data && data.total_count > PAGE && (
        <Pager
          skip={data.skip}
          shown={runs.length}
          total={data.total_count}
          page={page}
          pageCount={Math.ceil(data.total_count / PAGE)}
          onPage={(next) => void setUrl({ page: next, run: null })}
        />
      )}
    </>
  );
}

function RunRow({ run, isShown, onShow }: { run: Run; isShown: boolean; onShow: () => void }) {
  const base = useQuery({ ...knowledgeBaseQuery(run.kb_id ?? ""), enabled: run.kb_id !== null, retry: false, staleTime: 60_000 });
  const subject = run.kb_id === null ? "The organization" : (base.data?.name ?? (base.error ? "A deleted knowledge base" : "…"));
  return (
    <button
      type="button"
      className={`flex w-full flex-wrap items-center gap-x-4 border-b border-line px-2 py-2 text-left ${isShown ? "bg-selected" : "hover:bg-hover"}`}
      aria-pressed={isShown}
      onClick={onShow}
    >
      <span className="w-[80px] font-medium">{run.dry_run ? "Dry run" : "Run"}</span>
      <span className="min-w-0 max-w-[260px] truncate">{subject}</span>
      <RunState run={run} />
      <span className="flex-1" />
      <span className="text-text-2">
        <Time at={run.created_at} />
      </span>
    </button>
  );
}
