import { useState } from "react";

import type { Document } from "@/api/queries";

/** Documents that were chosen one by one, or all that pass the filter but those that were left out. */
export interface Selection {
  documents: ReadonlyMap<string, Document>;
  /** Null where documents were chosen one by one. */
  leftOut: ReadonlySet<string> | null;
  count: number;
  has: (id: string) => boolean;
  toggle: (document: Document) => void;
  set: (documents: readonly Document[], isOn: boolean) => void;
  selectMatching: () => void;
  clear: () => void;
}

interface Held {
  key: string;
  documents: ReadonlyMap<string, Document>;
  leftOut: ReadonlySet<string> | null;
}

const NOTHING: ReadonlyMap<string, Document> = new Map();

/** What is selected, across pages; another filter begins anew. `matching` is how many pass it. */
export function useSelection(filterKey: string, matching: number): Selection {
  const [held, setHeld] = useState<Held>({ key: filterKey, documents: NOTHING, leftOut: null });
  const { documents, leftOut } = held.key === filterKey ? held : { documents: NOTHING, leftOut: null };
  const set = (changed: readonly Document[], isOn: boolean) => {
    if (leftOut !== null) {
      const next = new Set(leftOut);
      for (const { document_id: id } of changed) {
        if (isOn) next.delete(id);
        else next.add(id);
      }
      setHeld({ key: filterKey, documents: NOTHING, leftOut: next.size < matching ? next : null });
      return;
    }
    const next = new Map(documents);
    for (const document of changed) {
      if (isOn) next.set(document.document_id, document);
      else next.delete(document.document_id);
    }
    setHeld({ key: filterKey, documents: next, leftOut: null });
  };
  const has = (id: string) => (leftOut === null ? documents.has(id) : !leftOut.has(id));
  return {
    documents,
    leftOut,
    count: leftOut === null ? documents.size : Math.max(0, matching - leftOut.size),
    has,
    toggle: (document) => set([document], !has(document.document_id)),
    set,
    selectMatching: () => setHeld({ key: filterKey, documents: NOTHING, leftOut: new Set() }),
    clear: () => setHeld({ key: filterKey, documents: NOTHING, leftOut: null }),
  };
}
