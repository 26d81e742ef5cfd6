import { useSyncExternalStore } from "react";

const nothing = () => () => undefined;

/** What stands behind # in the link, which no server is told; null while the page is being rendered without a browser. */
export function useLinkSecret(): string | null {
  return useSyncExternalStore(
    nothing,
    () => location.hash.slice(1),
    () => null,
  );
}
