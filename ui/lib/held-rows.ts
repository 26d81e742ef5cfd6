/** Rows stay where they are while the list behind them changes: new ones wait until they are asked for. */

import { useCallback, useMemo, useState } from "react";

export interface Held<Row> {
  rows: Row[];
  /** Rows that the server has on this page and that are not shown yet. */
  newCount: number;
  /** Shown rows that the server no longer has on this page: they moved, or they are deleted. */
  missingIds: string[];
}

/** The held ids with their latest rows; a row that left the page is shown as it was last seen, and named as missing. */
export function holdRows<Row>(
  ids: readonly string[],
  latest: readonly Row[],
  seen: ReadonlyMap<string, Row>,
  idOf: (row: Row) => string,
): Held<Row> {
  const fresh = new Map(latest.map((row) => [idOf(row), row]));
  const shown = new Set(ids);
  return {
    rows: ids.flatMap((id) => fresh.get(id) ?? seen.get(id) ?? []),
    newCount: latest.filter((row) => !shown.has(idOf(row))).length,
    missingIds: ids.filter((id) => !fresh.has(id)),
  };
}

/** Whether the server's rows are to be held anew: for another page, when nothing is there to move, or while released. */
export function holdsAnew(
  hold: { key: string; ids: readonly string[]; isReleased: boolean } | null,
  key: string,
  isOther: boolean,
): boolean {
  return hold === null || hold.key !== key || (isOther && (hold.isReleased || hold.ids.length === 0));
}

interface Hold<Row> {
  key: string;
  ids: string[];
  seen: ReadonlyMap<string, Row>;
  source: readonly Row[];
  isReleased: boolean;
}

/** Hold the rows of the page that `key` names.

`latest` are the server's, undefined while they load. What this person did (an upload, a deletion) is not held back:
from `release` to `settle` rows are shown as the server sends them, and `settle` holds those that it sent last, also
where an event had brought them before. */
export function useHeldRows<Row>(key: string, latest: readonly Row[] | undefined, idOf: (row: Row) => string) {
  const [hold, setHold] = useState<Hold<Row> | null>(null);
  // Derived while rendering, so that no frame shows the rows of another page.
  if (latest !== undefined && holdsAnew(hold, key, hold?.source !== latest)) {
    const seen = new Map(latest.map((row) => [idOf(row), row]));
    setHold({ key, ids: [...seen.keys()], seen, source: latest, isReleased: hold?.key === key && hold.isReleased });
  }
  const current = hold?.key === key ? hold : null;
  const held = useMemo<Held<Row> | null>(
    () => (latest === undefined || current === null ? null : holdRows(current.ids, latest, current.seen, idOf)),
    [latest, current, idOf],
  );
  const release = useCallback(() => setHold((now) => now && { ...now, isReleased: true }), []);
  const settle = useCallback(() => setHold(null), []);
  return { held, release, settle };
}
