import { useCallback, useMemo, useState } from "react";

import { type Held, holdRows, holdsAnew } from "@/lib/held-rows";

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
