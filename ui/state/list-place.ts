/** Where lists were left, so that Back shows them as they were: how far they were scrolled, and the item that was opened. */

import { useCallback, useLayoutEffect, useRef, useSyncExternalStore } from "react";

interface Place {
  top: number;
  item: string | null;
}

/** From where an item of a list was opened. */
interface Leaving {
  address: string;
  item: string;
}

interface Kept {
  places: Map<string, Place>;
  /** The latest of each path, the latest of all at the end. */
  leavings: Map<string, Leaving>;
}

const KEY = "analytiq.places";
const MOST_PLACES = 200;

let kept: Kept | null = null;
/** The address that Back, Forward, a reload or a way back led to, and the lists that have taken their places there. */
let arrival: { address: string; event: Event | null; taken: Set<string> } | null = null;

function here(): string {
  return location.pathname + location.search;
}

function memory(): Kept {
  if (kept !== null) return kept;
  kept = { places: new Map(), leavings: new Map() };
  try {
    const { places, leavings } = JSON.parse(sessionStorage.getItem(KEY) ?? "{}") as {
      places?: [string, Place][];
      leavings?: [string, Leaving][];
    };
    kept = { places: new Map(places), leavings: new Map(leavings) };
  } catch {
    // Storage is switched off or holds something else: places are remembered until the next reload.
  }
  const [entry] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  if (entry?.type === "reload" || entry?.type === "back_forward") {
    // As it was loaded: somebody may have gone on to the list since.
    const { pathname, search } = new URL(entry.name);
    arriveAt(pathname + search);
  }
  window.addEventListener("popstate", (event) => {
    if (arrival?.event !== event) arriveAt(here(), event);
  });
  window.addEventListener("pagehide", keep);
  return kept;
}

function keep(): void {
  const { places, leavings } = memory();
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ places: [...places].slice(-MOST_PLACES), leavings: [...leavings] }));
  } catch {
    // As above.
  }
}

function put<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
}

function arriveAt(address: string, event: Event | null = null): void {
  arrival = { address, event, taken: new Set() };
}

/** The router hears of Back before this module does, and renders the list at once: then the event is still under way. */
function noteTraversal(): void {
  // The standard's only word for it; marked as deprecated, since libraries should be handed the event.
  const { event } = window as { event?: Event };
  if (event?.type === "popstate" && arrival?.event !== event) arriveAt(here(), event);
}

/** Whether the list comes back now; once for each arrival, so that a list that is opened anew begins at its top. */
function comesBack(name: string): boolean {
  noteTraversal();
  if (arrival?.address !== here() || arrival.taken.has(name)) return false;
  arrival.taken.add(name);
  return true;
}

/** An item of the list at this address is opened. */
export function noteLeaving(item: string): void {
  put(memory().leavings, location.pathname, { address: here(), item });
}

/** The address of the list at `path` as it was left, or of whichever other page the item was opened from last. */
function wayBack(path: string, item: string | null): string {
  const { leavings } = memory();
  const from = [...leavings].findLast(([page, leaving]) => leaving.item === item && page !== location.pathname);
  return (from?.[1] ?? leavings.get(path))?.address ?? path;
}

function subscribe(): () => void {
  return () => {};
}

/** Where a page of one item leads back to, with what to call when that way is taken. */
export function useWayBack(path: string, item: string | null = null): { href: string; take: () => void } {
  const href = useSyncExternalStore(
    subscribe,
    () => wayBack(path, item),
    () => path,
  );
  return { href, take: () => arriveAt(href) };
}

/**
 * Scrolls a list to where it was left when somebody comes back, and to its top when it shows something else.
 *
 * `view` names what the list shows (its filters and page), `isReady` says that its rows are those of the view. Rows carry
 * `data-item`; `onBack` is told which of them was opened from here.
 */
export function useListPlace({
  name,
  view,
  isReady,
  onBack,
}: {
  name: string;
  view: string;
  isReady: boolean;
  onBack?: (item: string) => void;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const shown = useRef<string | null>(null);
  const key = `${name} ${view}`;
  const latestOnBack = useRef(onBack);
  // Before the first paint, so that nobody sees the list jump.
  useLayoutEffect(() => {
    latestOnBack.current = onBack;
  });
  useLayoutEffect(() => {
    memory();
    if (!isReady || scroller.current === null || shown.current === key) return;
    const isFirst = shown.current === null;
    shown.current = key;
    if (comesBack(name)) {
      const place = memory().places.get(key);
      scroller.current.scrollTop = place?.top ?? 0;
      if (place?.item) latestOnBack.current?.(place.item);
    } else if (!isFirst) {
      scroller.current.scrollTop = 0;
    }
  }, [isReady, key, name]);
  const note = useCallback(
    (item: string) => {
      put(memory().places, key, { top: scroller.current?.scrollTop ?? 0, item });
      noteLeaving(item);
    },
    [key],
  );
  return {
    note,
    props: {
      ref: scroller,
      onScroll: (event: React.UIEvent<HTMLElement>) => {
        if (!isReady || shown.current !== key) return;
        put(memory().places, key, { top: event.currentTarget.scrollTop, item: memory().places.get(key)?.item ?? null });
      },
      onClickCapture: (event: React.MouseEvent<HTMLElement>) => {
        const item = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-item]")?.dataset.item : undefined;
        if (item !== undefined) note(item);
      },
    },
  };
}
