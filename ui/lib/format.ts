/** Numbers, sizes and moments as people read them; what is unknown is a dash. */

export const UNKNOWN = "–";

const LOCALE = "en-GB";
const integer = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 0 });
const oneDecimal = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 1 });
const day = new Intl.DateTimeFormat(LOCALE, { day: "numeric", month: "short", year: "numeric" });
const clock = new Intl.DateTimeFormat(LOCALE, { hour: "2-digit", minute: "2-digit" });
const absolute = new Intl.DateTimeFormat(LOCALE, { dateStyle: "long", timeStyle: "medium" });

export function formatCount(value: number | null | undefined): string {
  return value === null || value === undefined ? UNKNOWN : integer.format(value).replaceAll("\u202f", ",");
}

/** "1 document", "2 documents". */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

export function formatBytes(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return UNKNOWN;
  if (bytes < 1000) return `${bytes} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let value = bytes;
  let unit = -1;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 10 ? oneDecimal.format(value) : integer.format(value)} ${units[unit]}`;
}

export function formatMilliseconds(milliseconds: number | null | undefined): string {
  if (milliseconds === null || milliseconds === undefined) return UNKNOWN;
  if (milliseconds < 1) return "under 1 ms";
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${oneDecimal.format(milliseconds / 1000)} s`;
  const minutes = Math.floor(milliseconds / 60_000);
  return `${minutes} min ${Math.round((milliseconds % 60_000) / 1000)} s`;
}

export function formatScore(score: number | null | undefined): string {
  return score === null || score === undefined ? UNKNOWN : score.toFixed(2);
}

/** "12 min ago" for seven days, then the date. */
export function formatMoment(iso: string | null | undefined, now: number): string {
  if (!iso) return UNKNOWN;
  const at = Date.parse(iso);
  if (Number.isNaN(at)) return UNKNOWN;
  const seconds = Math.round((now - at) / 1000);
  if (seconds < 0) return formatFuture(-seconds, at);
  if (seconds < 45) return "just now";
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min ago`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h ago`;
  if (seconds < 2 * 86_400) return "yesterday";
  if (seconds < 7 * 86_400) return `${Math.round(seconds / 86_400)} days ago`;
  return day.format(at);
}

function formatFuture(seconds: number, at: number): string {
  if (seconds < 60) return `in ${seconds} s`;
  if (seconds < 3600) return `in ${Math.round(seconds / 60)} min`;
  if (seconds < 12 * 3600) return `at ${clock.format(at)}`;
  return day.format(at);
}

export function formatAbsolute(iso: string): string {
  return absolute.format(Date.parse(iso));
}

export function formatDay(iso: string): string {
  return day.format(Date.parse(iso));
}
