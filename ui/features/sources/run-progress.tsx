import { Ban } from "lucide-react";

import { May } from "@/components/may";
import { State } from "@/components/state";
import { Button } from "@/components/ui/button";

import type { Run } from "./queries";
import { useRuns } from "./use-runs";
import { countWords, progressOf, progressWords, runKind, runState } from "./words";

/** Progress of an unfinished run, with its cancel button. */
export function RunProgress({ run }: { run: Run }) {
  const { cancel } = useRuns(run.source_id);
  const { tone, label } = runState(run);
  const part = progressOf(run);
  const told = run.state === "queued" ? "" : `, ${countWords(run)}`;
  return (
    <section aria-label="Progress" className="flex flex-col gap-2 border-b border-line px-4 py-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <State tone={tone}>
          {runKind(run)}: {label.toLowerCase()}
        </State>
        <span className="min-w-0 flex-1 text-text-2 tabular-nums">
          {progressWords(run)}
          {told}
        </span>
        <May to="cancel_source_run">
          <Button size="small" disabled={cancel.isPending} onClick={() => cancel.mutate(run)}>
            <Ban aria-hidden size={13} /> Cancel run
          </Button>
        </May>
      </div>
      <div
        role="progressbar"
        aria-label="Items of the source"
        aria-valuetext={progressWords(run)}
        {...(part !== null && { "aria-valuenow": Math.round(part * 100), "aria-valuemin": 0, "aria-valuemax": 100 })}
        className="h-1.5 overflow-hidden rounded bg-hover"
      >
        <div
          className={`h-full bg-accent ${part === null ? "w-1/4" : ""}`}
          style={part === null ? { animation: "busy 1s linear infinite" } : { width: `${Math.max(1, part * 100)}%` }}
        />
      </div>
    </section>
  );
}
