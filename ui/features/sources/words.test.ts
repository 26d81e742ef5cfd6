import { describe, expect, it } from "vitest";

import { accessWords, countWords, progressOf, progressWords, runKind, runState, scheduleWords } from "./words";

const NONE = { added: 0, changed: 0, unchanged: 0, removed: 0, skipped: 0, failed: 0 };
const RUN = { state: "succeeded", phase: "listing", withheld_removals: 0, is_whole: true, known_before: 0, counts: NONE } as const;

describe("a run in words", () => {
  it("names what needs attention although the run ended well", () => {
    expect(runState(RUN)).toEqual({ tone: "ready", label: "Done" });
    expect(runState({ ...RUN, counts: { ...NONE, failed: 3 } })).toEqual({ tone: "warning", label: "Done, 3 failed" });
    expect(runState({ ...RUN, withheld_removals: 9 })).toEqual({ tone: "warning", label: "Done, nothing removed" });
    expect(runState({ ...RUN, is_whole: false })).toEqual({ tone: "warning", label: "Done, nothing removed" });
    expect(runState({ ...RUN, state: "running", phase: "removing" })).toEqual({ tone: "working", label: "Removing" });
  });

  it("tells how far it is, and never more than all", () => {
    const run = { ...RUN, state: "running", known_before: 1000, counts: { ...NONE, unchanged: 240, removed: 7 } } as const;
    expect([progressWords(run), progressOf(run)]).toEqual(["240 of about 1,000 items", 0.24]);
    const grown = { ...run, counts: { ...NONE, added: 1200 } };
    expect([progressWords(grown), progressOf(grown)]).toEqual(["1,200 items", 1]);
    const chosen = { ...run, external_ids: ["a", "b"], counts: { ...NONE, changed: 1 } };
    expect([progressWords(chosen), progressOf(chosen)]).toEqual(["1 of about 2 items", 0.5]);
    expect([progressWords({ ...RUN, state: "queued" }), progressOf(RUN)]).toEqual(["Waiting for a worker", null]);
  });

  it("counts what happened", () => {
    expect(countWords({ counts: { ...NONE, added: 12, unchanged: 900, failed: 1 } })).toBe("12 added, 1 failed");
    expect(countWords({ counts: { ...NONE, unchanged: 900 } })).toBe("900 unchanged");
    expect(countWords({ counts: NONE })).toBe("No items");
  });
});

describe("the kind of a run in words", () => {
  it("tells what asked for it, and what it was told", () => {
    const run = { is_dry_run: false, trigger: "request", accepts_losses: false, is_full: false } as const;
    expect([run, { ...run, is_full: true }, { ...run, trigger: "push" } as const].map(runKind)).toEqual([
      "Run",
      "Run, everything",
      "Pushed items",
    ]);
  });
});

describe("who may read an item in words", () => {
  it("counts people and groups, and is never empty", () => {
    const access = { people: ["ada"], groups: ["staff", "board"], is_public: false };
    expect(accessWords(access)).toBe("1 person, 2 groups");
    expect(accessWords({ ...access, groups: [] })).toBe("1 person");
    expect(accessWords({ ...access, is_public: true })).toBe("Everyone");
    expect(accessWords({ people: [], groups: [], is_public: false })).toBe("Nobody named");
  });
});

describe("a schedule in words", () => {
  it("uses the largest unit that divides the interval", () => {
    expect([null, 60, 90, 3600, 21_600, 86_400, 1_209_600].map(scheduleWords)).toEqual([
      "On request",
      "Every minute",
      "Every 90 seconds",
      "Every hour",
      "Every 6 hours",
      "Every day",
      "Every 2 weeks",
    ]);
  });
});
