/** SPUs by day and series, for bars: the four largest series and the rest. */

import type { Schemas } from "@/api/client";

type DailyUsage = Schemas["DailyUsageAnswer"];

export type GroupBy = "kb" | "model" | "operation";

interface Series {
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
export const MOST_SERIES = 4;
/** What the API calls the groups. */
export const GROUP_FIELD = { kb: "kb_id", model: "embedding_model", operation: "operation" } as const satisfies Record<GroupBy, string>;
const DAY_MILLISECONDS = 86_400_000;

/** Every day (UTC) of the period, days without a charge too, ending with the day of `now`. */
export function daysUntil(now: number, count: number): string[] {
  return Array.from({ length: count }, (_, at) => new Date(now - (count - 1 - at) * DAY_MILLISECONDS).toISOString().slice(0, 10));
}

/** The API leaves out days without a charge; bars have them all. */
export function daily(usage: Pick<DailyUsage, "groups" | "days">, days: string[]): Daily {
  const series: Series[] = usage.groups.map(({ id, spus }) => ({ id: id ?? "", total: spus }));
  const rest = usage.days.reduce((sum, day) => sum + day.other_spus, 0);
  if (rest > 0) series.push({ id: OTHER, total: rest });
  const charged = new Map(usage.days.map((day) => [day.day, rest > 0 ? [...day.spus, day.other_spus] : day.spus]));
  return { days, series, spus: days.map((day) => charged.get(day) ?? series.map(() => 0)) };
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
