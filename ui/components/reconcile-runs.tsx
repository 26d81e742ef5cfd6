"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";

import { reconcileKeys } from "@/api/keys";
import { Button } from "@/components/ui/button";
import type { Operation } from "@/state/permissions";

import { EmptyState, SkeletonBlock } from "./feedback";
import { May } from "./may";
import { isLive, type Run } from "./reconcile-queries";
import { Report, RunState, runKind } from "./reconcile-report";
import { Banner } from "./state";
import { Time } from "./time";

/** Having one look now, what the chosen run found, and the runs before: of a knowledge base, or of the organization. */
export function ReconcileRuns({
  label,
  operation,
  explanation,
  runs,
  chosen,
  empty,
  start,
  subjectOf,
  onShow,
  onStarted,
}: {
  label: string;
  /** What starting one takes. */
  operation: Operation;
  explanation: string;
  /** Newest first; undefined while they are on their way. */
  runs: readonly Run[] | undefined;
  chosen: string | null;
  empty: { title: string; text: React.ReactNode };
  start: (isDry: boolean) => Promise<Run>;
  subjectOf?: (run: Run) => React.ReactNode;
  onShow: (runId: string) => void;
  onStarted: (runId: string) => void;
}) {
  const client = useQueryClient();
  const begin = useMutation({
    mutationFn: start,
    onSuccess: async (run) => {
      onStarted(run.run_id);
      await client.invalidateQueries({ queryKey: reconcileKeys.all });
    },
  });
  const shown = chosen ?? runs?.[0]?.run_id ?? null;
  const isBusy = begin.isPending || (runs ?? []).some(isLive);
  return (
    <div className="min-h-0 flex-1 overflow-auto" role="region" aria-label={label} tabIndex={0}>
      <div className="flex max-w-[960px] flex-col gap-4 p-4">
        <May to={operation}>
          <div className="flex flex-wrap items-center gap-2">
            <Button disabled={isBusy} onClick={() => begin.mutate(true)}>
              Dry run
            </Button>
            <Button variant="primary" disabled={isBusy} onClick={() => begin.mutate(false)}>
              Run now
            </Button>
            <span className="text-text-2">{explanation} A dry run only reports problems. Run now also repairs them.</span>
          </div>
        </May>
        {begin.error && <Banner tone="failed">{begin.error.message}</Banner>}
        {!runs ? (
          <SkeletonBlock lines={4} />
        ) : shown === null ? (
          <EmptyState title={empty.title}>{empty.text}</EmptyState>
        ) : (
          <Report key={shown} runId={shown} />
        )}
        {runs && runs.length > 0 && (
          <section>
            <h2 className="mb-1 text-lg font-semibold">Runs</h2>
            <ul>
              {runs.map((run) => (
                <li key={run.run_id}>
                  <button
                    type="button"
                    className={`flex w-full flex-wrap items-center gap-x-4 border-b border-line px-2 py-2 text-left ${run.run_id === shown ? "bg-selected" : "hover:bg-hover"}`}
                    aria-pressed={run.run_id === shown}
                    onClick={() => onShow(run.run_id)}
                  >
                    <span className="w-[130px] font-medium">{runKind(run)}</span>
                    {subjectOf && <span className="min-w-0 truncate md:w-[260px]">{subjectOf(run)}</span>}
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
