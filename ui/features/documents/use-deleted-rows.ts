import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";

import { deletedQuery } from "./queries";
import type { Selection } from "./use-selection";

/** Of rows that left the page, those that were deleted; they leave the selection too. */
export function useDeletedRows(missingIds: readonly string[], selection: Selection): ReadonlySet<string> {
  const { data } = useQuery(deletedQuery(missingIds));
  const deleted = useMemo(() => {
    const known = new Set(data?.deletedIds);
    return new Set(missingIds.filter((id) => known.has(id)));
  }, [missingIds, data]);
  useEffect(() => {
    if (selection.leftOut !== null) return;
    const chosen = [...selection.documents.values()].filter((document) => deleted.has(document.document_id));
    if (chosen.length > 0) selection.set(chosen, false);
  }, [deleted, selection]);
  return deleted;
}
