import { describe, expect, it } from "vitest";

import { daily, daysUntil, OTHER, roundUp, toCsv } from "./daily";

describe("SPUs by day", () => {
  const days = daysUntil(Date.parse("2026-03-02T12:00:00Z"), 3);

  it("has every day of the period, across the end of a month", () => {
    expect(days).toEqual(["2026-02-28", "2026-03-01", "2026-03-02"]);
  });

  it("puts each charge on its day and in its series, largest first", () => {
    const groups = [
      { id: "b", name: "B", spus: 5 },
      { id: null, name: null, spus: 3 },
    ];
    const charged = [
      { day: "2026-02-28", spus: [0, 1], other_spus: 0 },
      { day: "2026-03-02", spus: [5, 2], other_spus: 0 },
    ];
    const found = daily({ groups, days: charged }, days);
    expect(found.series).toEqual([
      { id: "b", total: 5 },
      { id: "", total: 3 },
    ]);
    expect(found.spus).toEqual([
      [0, 1],
      [0, 0],
      [5, 2],
    ]);
  });

  it("shows the groups beyond the largest as one series, and loses nothing", () => {
    const found = daily({ groups: [{ id: "a", name: "A", spus: 10 }], days: [{ day: "2026-03-01", spus: [10], other_spus: 11 }] }, days);
    expect(found.series).toEqual([
      { id: "a", total: 10 },
      { id: OTHER, total: 11 },
    ]);
    expect(found.spus).toEqual([
      [0, 0],
      [10, 11],
      [0, 0],
    ]);
  });

  it("has no series where nothing was charged", () => {
    expect(daily({ groups: [], days: [] }, days)).toEqual({ days, series: [], spus: [[], [], []] });
  });
});

it("rounds the top of an axis up", () => {
  expect([0, 1, 3, 5, 99, 100, 101, 4321].map(roundUp)).toEqual([1, 1, 5, 5, 100, 100, 200, 5000]);
});

it("writes CSV that a spreadsheet neither misreads nor runs", () => {
  expect(toCsv([["a,b", 'say "x"', "=1+1", -3]])).toBe('"a,b","say ""x""",\'=1+1,-3\r\n');
});
