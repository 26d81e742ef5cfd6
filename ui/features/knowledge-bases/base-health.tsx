"use client";

import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import Link from "next/link";
import { parseAsString, useQueryState } from "nuqs";

import { answered, api, idempotencyKey, organizationPath, type Schemas } from "@/api/client";
import type { KnowledgeBase } from "@/api/queries";
import { EmptyState, ErrorState, SkeletonBlock } from "@/components/feedback";
import { May } from "@/components/may";
import { Banner, State, type Tone } from "@/components/state";
import { Time } from "@/components/time";
import { formatCount, plural } from "@/lib/format";

import { driftWords, NEEDS_A_PERSON } from "./drift-words";

export type Run = Schemas["ReconcileRunResponse"];

const SHOWN_RUNS = 20;
const LIVE_MILLISECONDS = 1_000;

export function isLive(run: Run | undefined): boolean {
  return run?.state === "queued" || run?.state === "running";
}

function runsQuery(kbId: string) {
  return queryOptions({
    queryKey: ["reconcile", "runs", kbId],
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/reconcile/runs", {
          params: { path: organizationPath(), query: { kb_id: kbId, limit: SHOWN_RUNS } },
          signal,
        }),
      ),
    refetchInterval: (query) => (query.state.data?.runs.some(isLive) ? LIVE_MILLISECONDS : 15_000),
  });
}

function reportQuery(runId: string) {
  return queryOptions({
    queryKey: ["reconcile", "report", runId],
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/reconcile/runs/{reconcile_run_id}", {
          params: { path: { ...organizationPath(), reconcile_run_id: runId } },
          signal,
        }),
      ),
    refetchInterval: (query) => (isLive(query.state.data) ? LIVE_MILLISECONDS : false),
  });
}

/** Whether the knowledge base is as it should be: runs that looked, what they found, and having one look now. */
export function BaseHealth({ base }: { base: KnowledgeBase }) {
  const client = useQueryClient();
  const [chosen, setChosen] = useQueryState("run", parseAsString.withOptions({ history: "push" }));
  const { data, error, refetch } = useQuery(runsQuery(base.kb_id));
  const start = useMutation({
    mutationFn: (isDry: boolean) =>
      answered(
        api.POST("/v0/orgs/{organization_id}/knowledge-bases/{kb_id}/reconcile", {
          params: { path: { ...organizationPath(), kb_id: base.kb_id } },
          body: { depth: "full", dry_run: isDry, rebuild_cache: false },
          headers: idempotencyKey(),
        }),
      ),
    onSuccess: async (run) => {
      void setChosen(run.run_id);
      await client.invalidateQueries({ queryKey: ["reconcile"] });
    },
  });
  if (error && !data) return <ErrorState error={error} retry={() => void refetch()} />;
  const runs = data?.runs ?? [];
  const shown = chosen ?? runs[0]?.run_id ?? null;
  const isBusy = start.isPending || runs.some(isLive);
  return (
    <div className="min-h-0 flex-1 overflow-auto" role="region" aria-label="Health" tabIndex={0}>
      <div className="flex max-w-[960px] flex-col gap-4 p-4">
        <May to="create_knowledge_base_reconcile_run">
          <div className="flex flex-wrap items-center gap-2">
            <button type="button" className="button" disabled={isBusy} onClick={() => start.mutate(true)}>
              Dry run
            </button>
            <button type="button" className="button button-primary" disabled={isBusy} onClick={() => start.mutate(false)}>
              Run now
            </button>
            <span className="text-text-2">
              Every vector, file and text is compared with what there should be. A dry run only tells; Run now has it mended.
            </span>
          </div>
        </May>
        {start.error && <Banner tone="failed">{start.error.message}</Banner>}
        {!data ? (
          <SkeletonBlock lines={4} />
        ) : shown === null ? (
          <EmptyState title="Nobody has had it looked at yet">
            All knowledge bases are looked at regularly by themselves; what was found stands in the{" "}
            <Link href="/operations/?tab=reports" className="text-link underline">
              reports
            </Link>
            .
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
                  <button
                    type="button"
                    className={`flex w-full flex-wrap items-center gap-x-4 border-b border-line px-2 py-2 text-left ${run.run_id === shown ? "bg-selected" : "hover:bg-hover"}`}
                    aria-pressed={run.run_id === shown}
                    onClick={() => void setChosen(run.run_id)}
                  >
                    <span className="w-[110px] font-medium">{run.dry_run ? "Dry run" : "Run"}</span>
                    <RunState run={run} />
                    <span className="flex-1" />
                    <span className="text-text-2">
                      <Time at={run.created_at} />
                    </span>
                  </button>
                </li>
              ))}
            </ul>
          </section>
        )}
      </div>
    </div>
  );
}

function foundOf(run: Run): number {
  return Object.values(run.counts).reduce((sum, count) => sum + count, 0);
}

function stateOf(run: Run): { tone: Tone; words: string } {
  switch (run.state) {
    case "queued":
      return { tone: "queued", words: "Waits for a worker" };
    case "running":
      return {
        tone: "working",
        words: run.progress ? `Looking, ${formatCount(run.progress.done)} of ${formatCount(run.progress.total)}` : "Looking",
      };
    case "failed":
      return { tone: "failed", words: "Failed" };
    case "done": {
      const found = foundOf(run);
      if (found === 0) return { tone: "ready", words: "Nothing wrong" };
      return run.dry_run
        ? { tone: "warning", words: `${formatCount(found)} found` }
        : { tone: "ready", words: `${formatCount(found)} found, repair of ${formatCount(run.repairs)} asked for` };
    }
  }
}

export function RunState({ run }: { run: Run }) {
  const { tone, words } = stateOf(run);
  return <State tone={tone}>{words}</State>;
}

export function Report({ runId }: { runId: string }) {
  const { data: run, error, refetch } = useQuery(reportQuery(runId));
  if (error && !run) return <ErrorState error={error} retry={() => void refetch()} title="The report could not be loaded" />;
  if (!run) return <SkeletonBlock lines={3} />;
  const kinds = Object.entries(run.counts).filter(([, count]) => count > 0);
  return (
    <section aria-label="Report" className="flex flex-col gap-3 rounded-lg border border-line p-4">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1" role="status">
        <h2 className="text-lg font-semibold">{run.dry_run ? "Dry run" : "Run"}</h2>
        <RunState run={run} />
        <span className="text-text-2">
          {plural(run.checked, "document")} looked at{run.ended_at && <>, ended <Time at={run.ended_at} /></>}
        </span>
      </div>
      {run.error && <Banner tone="failed">{run.error.detail}</Banner>}
      {run.is_cut && <Banner tone="warning">There was more than one run takes; the next run goes on.</Banner>}
      {kinds.map(([kind, count]) => (
        <div key={kind}>
          <h3 className="font-semibold">
            {driftWords(kind)}: {formatCount(count)}
          </h3>
          {NEEDS_A_PERSON.has(kind) && (
            <p className="text-warn">No repair brings it back: upload the file again, or restore a backup.</p>
          )}
          <ul className="pl-4">
            {run.drift
              .filter((found) => found.kind === kind && (found.document_id !== null || found.detail !== null))
              .map((found, at) => (
                <li key={`${found.document_id ?? ""}${at}`} className="break-words">
                  {found.document_id && found.document_name ? (
                    <Link className="text-link hover:underline" href={`/documents/view/?id=${found.document_id}&tab=history`}>
                      {found.document_name}
                    </Link>
                  ) : (
                    (found.document_id ?? "")
                  )}
                  {found.detail && <span className="text-text-2"> {found.detail}</span>}
                </li>
              ))}
          </ul>
          {(run.more[kind] ?? 0) > 0 && <p className="pl-4 text-text-3">and {formatCount(run.more[kind])} more</p>}
        </div>
      ))}
    </section>
  );
}
