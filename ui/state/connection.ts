/** Whether the API answers, as the last requests found it. */

import { useSyncExternalStore } from "react";

import { NetworkError } from "@/api/errors";

let isReachable = true;
const listeners = new Set<() => void>();

/** Tell what a request came to: null for any answer. */
export function reportReachable(error: unknown): void {
  const was = isReachable;
  isReachable = !(error instanceof NetworkError);
  if (was !== isReachable) for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useReachable(): boolean {
  return useSyncExternalStore(
    subscribe,
    () => isReachable,
    () => true,
  );
}
