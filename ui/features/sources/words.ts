/** Runs, schedules and outcomes in words. */

import type { Tone } from "@/components/state";
import { formatCount, plural } from "@/lib/format";

import type { ItemAccess, Outcome, Run, Source } from "./queries";

export const OUTCOMES: readonly Outcome[] = ["added", "changed", "unchanged", "removed", "skipped", "failed"];

export const OUTCOME_WORDS: Record<Outcome, string> = {
  added: "Added",
  changed: "Changed",
  unchanged: "Unchanged",
  removed: "Removed",
  skipped: "Skipped",
  failed: "Failed",
};

export const OUTCOME_TONES: Record<Outcome, Tone> = {
  added: "ready",
  changed: "ready",
  unchanged: "ready",
  removed: "absent",
  skipped: "queued",
  failed: "failed",
};

export function countedItems({ counts }: Pick<Run, "counts">): number {
  return OUTCOMES.reduce((sum, outcome) => sum + counts[outcome], 0);
}

/** Return the number of items that a run has listed; removed items are not listed. */
export function listedItems({ counts }: Pick<Run, "counts">): number {
  return countedItems({ counts }) - counts.removed;
}

export function runState(run: Pick<Run, "state" | "counts" | "phase" | "withheld_removals" | "is_whole">): { tone: Tone; label: string } {
  switch (run.state) {
    case "queued":
      return { tone: "queued", label: "Waiting" };
    case "running":
      return { tone: "working", label: run.phase === "removing" ? "Removing" : "Running" };
    case "failed":
      return { tone: "failed", label: "Failed" };
    case "cancelled":
      return { tone: "absent", label: "Cancelled" };
    default:
      if (run.counts.failed > 0) return { tone: "warning", label: `Done, ${formatCount(run.counts.failed)} failed` };
      if (run.withheld_removals > 0 || !run.is_whole) return { tone: "warning", label: "Done, nothing removed" };
      return { tone: "ready", label: "Done" };
  }
}

const TRIGGER_WORDS: Record<Run["trigger"], string> = { request: "Run", schedule: "Scheduled run", push: "Pushed items" };

/** Return the kind of a run: "Scheduled run". */
export function runKind(run: Pick<Run, "is_dry_run" | "trigger" | "accepts_losses" | "is_full">): string {
  const words = [run.is_dry_run ? "Dry run" : TRIGGER_WORDS[run.trigger]];
  if (run.is_full) words.push("everything");
  if (run.accepts_losses) words.push("accepting losses");
  return words.join(", ");
}

type Progressing = Pick<Run, "counts" | "known_before"> & { external_ids?: readonly string[] };

/** Return the expected number of items: the selected ones, or the source's last count. */
function expectedItems(run: Progressing): number {
  return run.external_ids?.length || run.known_before;
}

/** Return the progress in words: "240 of about 1,000 items". */
export function progressWords(run: Progressing & Pick<Run, "state">): string {
  if (run.state === "queued") return "Waiting for a worker";
  const listed = listedItems(run);
  const expected = expectedItems(run);
  return expected > listed ? `${formatCount(listed)} of about ${plural(expected, "item")}` : plural(listed, "item");
}

/** Return the progress from 0 to 1; null if the number of items is unknown. */
export function progressOf(run: Progressing): number | null {
  const expected = expectedItems(run);
  return expected > 0 ? Math.min(1, listedItems(run) / expected) : null;
}

/** Return the counts in words: "12 added, 3 failed". Unchanged items are named if there are no others. */
export function countWords({ counts }: Pick<Run, "counts">): string {
  const told = OUTCOMES.filter((outcome) => counts[outcome] > 0 && outcome !== "unchanged");
  if (told.length === 0) return counts.unchanged > 0 ? `${formatCount(counts.unchanged)} unchanged` : "No items";
  return told.map((outcome) => `${formatCount(counts[outcome])} ${OUTCOME_WORDS[outcome].toLowerCase()}`).join(", ");
}

/** Return in words who may read an item at its service: "3 people, 1 group". */
export function accessWords({ people, groups, is_public: isPublic }: ItemAccess): string {
  if (isPublic) return "Everyone";
  const told = [
    ...(people.length > 0 ? [plural(people.length, "person", "people")] : []),
    ...(groups.length > 0 ? [plural(groups.length, "group")] : []),
  ];
  return told.join(", ") || "Nobody named";
}

const UNITS = [
  { seconds: 604_800, one: "week" },
  { seconds: 86_400, one: "day" },
  { seconds: 3_600, one: "hour" },
  { seconds: 60, one: "minute" },
  { seconds: 1, one: "second" },
] as const;

/** Return an interval in its largest whole unit: "Every 6 hours". */
export function scheduleWords(seconds: number | null): string {
  if (seconds === null) return "On request";
  const unit = UNITS.find((item) => seconds % item.seconds === 0) ?? UNITS[4];
  const count = seconds / unit.seconds;
  return count === 1 ? `Every ${unit.one}` : `Every ${formatCount(count)} ${unit.one}s`;
}

/** Treatment of documents of vanished items. */
export const VANISHED_WORDS: Record<Source["when_vanished"], string> = {
  delete: "Delete the document",
  keep: "Keep the document",
  tag: "Keep the document and add a tag",
};
