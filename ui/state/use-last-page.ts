import { useEffect, useRef } from "react";

/** Return the last page of a list; an empty list has one page. */
export function lastPage(total: number, rowsPerPage: number): number {
  return Math.max(1, Math.ceil(total / rowsPerPage));
}

/** Turn to the last page where the address names one past it: rows were deleted, or the address was typed. */
export function useLastPage(page: number, total: number | undefined, rowsPerPage: number, replaceBy: (page: number) => unknown): void {
  const latest = useRef(replaceBy);
  useEffect(() => {
    latest.current = replaceBy;
  });
  useEffect(() => {
    if (total === undefined) return;
    const last = lastPage(total, rowsPerPage);
    if (page > last) latest.current(last);
  }, [page, total, rowsPerPage]);
}
