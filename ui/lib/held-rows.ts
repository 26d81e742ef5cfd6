/** Rows stay where they are while the list behind them changes: new ones wait until they are asked for. */

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
