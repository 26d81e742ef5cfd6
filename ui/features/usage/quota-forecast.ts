/** When a quota runs out if the days to come are like those of the period. */

const DAY_MILLISECONDS = 86_400_000;
/** Beyond it a date would pretend to know more than a few weeks of use can tell. */
const MOST_DAYS = 730;

/**
 * The day (UTC, as 2026-01-31) on which nothing is left; null where the use of the period says nothing about it.
 *
 * `perDay` are the SPUs of the period's days, the last of them not over yet: it is not counted, since half a day
 * would make the pace look slower than it is. Days before the first charge do not count either: the organization may
 * not have existed.
 */
export function quotaEnd(leftSpus: number, perDay: readonly number[], now: number): string | null {
  if (leftSpus <= 0) return null;
  const whole = perDay.slice(0, -1);
  const first = whole.findIndex((spus) => spus > 0);
  if (first < 0) return null;
  const used = whole.slice(first);
  const pace = used.reduce((sum, spus) => sum + spus, 0) / used.length;
  const days = Math.floor(leftSpus / pace);
  return days > MOST_DAYS ? null : new Date(now + days * DAY_MILLISECONDS).toISOString().slice(0, 10);
}
