"use client";

import { useState } from "react";

import { May } from "@/components/may";
import { Banner } from "@/components/state";
import { Button } from "@/components/ui/button";
import { ConfirmDialog } from "@/components/ui/dialog";
import { plural } from "@/lib/format";

import type { RunDetail, Source } from "./queries";
import { useRestart } from "./use-runs";

/** Notices of a run: the reason of its failure, withheld removals. */
export function RunNotices({ run, source }: { run: RunDetail; source: Source }) {
  const isOver = run.ended_at !== null;
  const hasNotices = run.error !== null || run.is_dry_run || run.withheld_removals > 0 || !run.is_whole;
  if (!hasNotices) return null;
  return (
    <div className="flex flex-col gap-2 px-4 pt-4">
      {run.error && <Banner tone="failed">{run.error.detail}</Banner>}
      {run.is_dry_run && <Banner tone="working">A dry run lists and compares. It changes nothing.</Banner>}
      {isOver && !run.is_whole && (
        <Banner tone="warning">A part of the source could not be listed, so nothing was removed. The log names it.</Banner>
      )}
      {run.withheld_removals > 0 && <Withheld run={run} source={source} />}
    </div>
  );
}

function Withheld({ run, source }: { run: RunDetail; source: Source }) {
  const [isAsking, setAsking] = useState(false);
  const restart = useRestart(source);
  const missing = plural(run.withheld_removals, "item");
  const isOne = run.withheld_removals === 1;
  return (
    <Banner tone="warning">
      <p>
        {missing} {isOne ? "is" : "are"} missing from the source, most of those that it had. Nothing was removed, in case the source has a
        problem.
      </p>
      <May to="run_source">
        <Button size="small" className="mt-2" disabled={restart.isBusy} onClick={() => setAsking(true)}>
          Run and accept the loss
        </Button>
      </May>
      <ConfirmDialog
        open={isAsking}
        onOpenChange={setAsking}
        title={`Accept that ${missing} vanished?`}
        action="Run and accept the loss"
        onConfirm={() => restart.start({ accepts_losses: true })}
      >
        {source.when_vanished === "delete"
          ? "A new run deletes the documents of items that are still missing. This cannot be undone."
          : "A new run marks items that are still missing as vanished. Their documents stay."}
      </ConfirmDialog>
    </Banner>
  );
}
