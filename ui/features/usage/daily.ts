/** SPUs by day and series, for bars: the four largest series and the rest. */

import type { Schemas } from "@/api/client";

type UsageItem = Schemas["UsageItem"];

export type GroupBy = "kb" | "model" | "operation";

export interface Series {
  id: string;
  total: number;
}

export interface Daily {
  days: string[];
  /** Largest first; at most four, then "other" where there are more. */
  series: Series[];
  /** spus[day][series], in the order of both. */
  spus: number[][];
}

export const OTHER = "other";
const MOST_SERIES = 4;
const DAY_MILLISECONDS = 86_400_000;

export function seriesOf(item: UsageItem, by: GroupBy): string {
  switch (by) {
    case "kb":
      return item.kb_id ?? "";
    case "model":
      return item.embedding_model;
    case "operation":
      return item.operation;
  }
}

/** Every day (UTC) of the period, days without a charge too, ending with the day of `now`. */
export function daysUntil(now: number, count: number): string[] {
  return Array.from({ length: count }, (_, at) =>
    new Date(now - (count - 1 - at) * DAY_MILLISECONDS).toISOString().slice(0, 10),
  );
}

export function daily(items: readonly UsageItem[], by: GroupBy, days: string[]): Daily {
  const totals = new Map<string, number>();
  for (const item of items) {
    if (item.spus > 0) totals.set(seriesOf(item, by), (totals.get(seriesOf(item, by)) ?? 0) + item.spus);
  }
  const ranked = [...totals].map(([id, total]) => ({ id, total })).sort((first, second) => second.total - first.total);
  const series = ranked.slice(0, MOST_SERIES);
  const rest = ranked.slice(MOST_SERIES).reduce((sum, { total }) => sum + total, 0);
  if (rest > 0) series.push({ id: OTHER, total: rest });
  const place = new Map(series.map(({ id }, at) => [id, at]));
  const row = new Map(days.map((day, at) => [day, at]));
  const spus = days.map(() => series.map(() => 0));
  for (const item of items) {
    const at = item.day === null ? undefined : spus[row.get(item.day) ?? -1];
    const column = place.get(seriesOf(item, by)) ?? place.get(OTHER);
    if (at !== undefined && column !== undefined) at[column] = (at[column] ?? 0) + item.spus;
  }
  return { days, series, spus };
}

/** A round number at or above the value, for the top of an axis: 1, 2 or 5 times a power of ten. */
export function roundUp(value: number): number {
  if (value <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((factor) => factor * power).find((round) => round >= value) ?? value;
}

/** Comma-separated, quoted where a field asks for it, and harmless to spreadsheets that run formulas. */
export function toCsv(rows: readonly (readonly (string | number)[])[]): string {
  const field = (value: string | number) => {
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return `${rows.map((row) => row.map(field).join(",")).join("\r\n")}\r\n`;
}
