import { describe, expect, it } from "vitest";

import { daily, daysUntil, OTHER, roundUp, toCsv } from "./daily";

const item = (day: string, kb: string | null, spus: number) => ({
  day,
  kb_id: kb,
  operation: "index",
  embedding_model: "local",
  spus,
  saved_spus: 0,
  unconfirmed_spus: 0,
});

describe("SPUs by day", () => {
  const days = daysUntil(Date.parse("2026-03-02T12:00:00Z"), 3);

  it("has every day of the period, across the end of a month", () => {
    expect(days).toEqual(["2026-02-28", "2026-03-01", "2026-03-02"]);
  });

  it("puts each charge on its day and in its series, largest first", () => {
    const found = daily([item("2026-02-28", "a", 1), item("2026-03-02", "b", 5), item("2026-03-02", "a", 2)], "kb", days);
    expect(found.series).toEqual([
      { id: "b", total: 5 },
      { id: "a", total: 3 },
    ]);
    expect(found.spus).toEqual([
      [0, 1],
      [0, 0],
      [5, 2],
    ]);
  });

  it("sums what is beyond four series, and loses nothing", () => {
    const found = daily(["a", "b", "c", "d", "e", "f"].map((kb, at) => item("2026-03-01", kb, 10 - at)), "kb", days);
    expect(found.series.map(({ id }) => id)).toEqual(["a", "b", "c", "d", OTHER]);
    expect(found.spus[1]).toEqual([10, 9, 8, 7, 11]);
  });

  it("leaves out what only the cache saved", () => {
    expect(daily([item("2026-03-01", "a", 0)], "kb", days).series).toEqual([]);
  });
});

it("rounds the top of an axis up", () => {
  expect([0, 1, 3, 5, 99, 100, 101, 4321].map(roundUp)).toEqual([1, 1, 5, 5, 100, 100, 200, 5000]);
});

it("writes CSV that a spreadsheet neither misreads nor runs", () => {
  expect(toCsv([["a,b", 'say "x"', "=1+1", -3]])).toBe('"a,b","say ""x""",\'=1+1,-3\r\n');
});
