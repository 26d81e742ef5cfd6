import { useState } from "react";

import type { Document } from "@/api/queries";

export interface Selection {
  documents: ReadonlyMap<string, Document>;
  count: number;
  has: (id: string) => boolean;
  toggle: (document: Document) => void;
  set: (documents: readonly Document[], isOn: boolean) => void;
  clear: () => void;
}

const NOTHING: ReadonlyMap<string, Document> = new Map();

/** What is selected, across pages; another filter begins anew. */
export function useSelection(filterKey: string): Selection {
  const [held, setHeld] = useState<{ key: string; documents: ReadonlyMap<string, Document> }>({
    key: filterKey,
    documents: NOTHING,
  });
  const documents = held.key === filterKey ? held.documents : NOTHING;
  const put = (next: ReadonlyMap<string, Document>) => setHeld({ key: filterKey, documents: next });
  const set = (changed: readonly Document[], isOn: boolean) => {
    const next = new Map(documents);
    for (const document of changed) {
      if (isOn) next.set(document.document_id, document);
      else next.delete(document.document_id);
    }
    put(next);
  };
  return {
    documents,
    count: documents.size,
    has: (id) => documents.has(id),
    toggle: (document) => set([document], !documents.has(document.document_id)),
    set,
    clear: () => put(NOTHING),
  };
}
