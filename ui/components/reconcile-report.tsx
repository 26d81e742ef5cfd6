"use client";

import { useQuery } from "@tanstack/react-query";
import Link from "next/link";

import { driftWords, NEEDS_A_PERSON } from "@/lib/drift-words";
import { formatCount, plural } from "@/lib/format";

import { ErrorState, SkeletonBlock } from "./feedback";
import { reportQuery, type Run } from "./reconcile-queries";
import { Banner, State, type Tone } from "./state";
import { Time } from "./time";

function foundOf(run: Run): number {
  return Object.values(run.counts).reduce((sum, count) => sum + count, 0);
}

function stateOf(run: Run): { tone: Tone; words: string } {
  switch (run.state) {
    case "queued":
      return { tone: "queued", words: "Waiting for a worker" };
    case "running":
      return {
        tone: "working",
        words: run.progress ? `Checking, ${formatCount(run.progress.done)} of ${formatCount(run.progress.total)}` : "Checking",
      };
    case "failed":
      return { tone: "failed", words: "Failed" };
    case "done": {
      const found = foundOf(run);
      if (found === 0) return { tone: "ready", words: "No problems found" };
      return run.dry_run
        ? { tone: "warning", words: `${plural(found, "problem")} found` }
        : { tone: "ready", words: `${plural(found, "problem")} found, ${plural(run.repairs, "repair")} queued` };
    }
  }
}

/** What a run is: begun by schedule or on request, and whether it reads contents too. */
export function runKind(run: Run): string {
  const depth = run.depth === "full" ? "full" : "quick";
  if (run.periodic) return `Scheduled, ${depth}`;
  return run.dry_run ? `Dry run, ${depth}` : `Run, ${depth}`;
}

export function RunState({ run }: { run: Run }) {
  const { tone, words } = stateOf(run);
  return <State tone={tone}>{words}</State>;
}

/** What a run found, by kind, and in which documents. */
export function Report({ runId }: { runId: string }) {
  const { data: run, error, refetch } = useQuery(reportQuery(runId));
  if (error && !run) return <ErrorState error={error} retry={() => void refetch()} title="The report could not be loaded" />;
  if (!run) return <SkeletonBlock lines={3} />;
  const kinds = Object.entries(run.counts).filter(([, count]) => count > 0);
  return (
    <section aria-label="Report" className="flex flex-col gap-3 rounded-lg border border-line p-4">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1" role="status">
        <h2 className="text-lg font-semibold">{runKind(run)}</h2>
        <RunState run={run} />
        <span className="text-text-2">
          {plural(run.checked, "document")} checked
          {run.ended_at && (
            <>
              , ended <Time at={run.ended_at} />
            </>
          )}
        </span>
      </div>
      {run.error && <Banner tone="failed">{run.error.detail}</Banner>}
      {run.is_cut && <Banner tone="warning">This run reached its limit. The next run continues.</Banner>}
      {kinds.map(([kind, count]) => (
        <div key={kind}>
          <h3 className="font-semibold">
            {driftWords(kind)}: {formatCount(count)}
          </h3>
          {NEEDS_A_PERSON.has(kind) && (
            <p className="text-warn">
              This cannot be repaired automatically. Upload the file again, or ask the operator to restore a backup.
            </p>
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
