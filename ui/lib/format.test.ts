import { expect, it } from "vitest";

import { formatBytes, formatCount, formatMilliseconds, formatMoment, plural } from "./format";

const NOW = Date.parse("2026-03-10T12:00:00Z");

it.each([
  [0, "0 B"],
  [999, "999 B"],
  [1000, "1 kB"],
  [3_100_000, "3.1 MB"],
  [48_200_000, "48 MB"],
  [999_700, "1 MB"],
  [null, "–"],
])("writes %s bytes as %s", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

it.each([
  ["2026-03-10T11:59:50Z", "just now"],
  ["2026-03-10T11:48:00Z", "12 min ago"],
  ["2026-03-10T09:00:00Z", "3 h ago"],
  ["2026-03-09T09:00:00Z", "yesterday"],
  ["2026-03-06T09:00:00Z", "4 days ago"],
  ["2026-03-03T09:00:00Z", "3 Mar 2026"],
  ["2026-03-10T12:00:30Z", "in 30 s"],
  ["not a moment", "–"],
  [null, "–"],
])("writes the moment %s as %s", (iso, text) => {
  expect(formatMoment(iso, NOW)).toBe(text);
});

it("writes durations and counts as people say them", () => {
  expect([0.2, 840, 1234, 125_000].map(formatMilliseconds)).toEqual(["under 1 ms", "840 ms", "1.2 s", "2 min 5 s"]);
  expect(formatCount(100214)).toBe("100,214");
  expect([plural(1, "document"), plural(1204, "document"), plural(2, "match", "matches")]).toEqual([
    "1 document",
    "1,204 documents",
    "2 matches",
  ]);
});
