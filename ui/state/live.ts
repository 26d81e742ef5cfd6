/** What changes in the organization, as the API tells it: one connection for all tabs of a browser.

The tab that holds the lock has the connection and hands events on to the others; when it is closed, another one goes on
after the last event. A browser opens six connections to an HTTP/1.1 server: eight tabs with one each would leave none. */

import { useSyncExternalStore } from "react";

import { type Block, forEachBlock } from "@/lib/event-stream";
import { session } from "@/state/session";

export interface LiveEvent {
  name: string;
  data: unknown;
}

/** `live`: events come. `lost`: they should and do not. `none`: this page polls, there is nothing to wait for. */
export type LiveState = "lost" | "live" | "none";

type Message = { kind: "events"; events: LiveEvent[]; lastId: string | null } | { kind: "state"; state: LiveState } | { kind: "ask" };

const AGAIN_MILLISECONDS = 2_000;
/** The organization has as many connections as it may: polling will do for a while. */
const CROWDED_MILLISECONDS = 60_000;
/** The server gives a sign of life every 15 s. */
const SILENCE_MILLISECONDS = 40_000;

let state: LiveState = "lost";
let lastId: string | null = null;
const stateListeners = new Set<() => void>();
const eventListeners = new Set<(events: LiveEvent[]) => void>();

function setState(next: LiveState): void {
  if (state === next) return;
  state = next;
  for (const listener of stateListeners) listener();
}

function hear(events: LiveEvent[]): void {
  for (const listener of eventListeners) listener(events);
}

/** How often to ask for what events tell as well: often without them, seldom with them. */
export function pollEvery(milliseconds: number): number {
  return state === "live" ? Math.max(60_000, milliseconds) : milliseconds;
}

export function onLiveEvents(listener: (events: LiveEvent[]) => void): () => void {
  eventListeners.add(listener);
  return () => eventListeners.delete(listener);
}

export function useLiveState(): LiveState {
  return useSyncExternalStore(
    (listener) => {
      stateListeners.add(listener);
      return () => stateListeners.delete(listener);
    },
    () => state,
    () => "live",
  );
}

/** Follow an organization until the answer is called. */
export function followOrganization(organizationId: string): () => void {
  const over = new AbortController();
  // Locks exist over HTTPS and on this machine only; without them each tab would need a connection.
  if (!("locks" in navigator) || typeof BroadcastChannel === "undefined") {
    setState("none");
    return () => setState("lost");
  }
  const name = `analytiq.events.${organizationId}`;
  const channel = new BroadcastChannel(name);
  let isLeader = false;
  channel.onmessage = ({ data: message }: MessageEvent<Message>) => {
    if (message.kind === "ask") {
      if (isLeader) channel.postMessage({ kind: "state", state } satisfies Message);
    } else if (message.kind === "state") {
      setState(message.state);
    } else {
      lastId = message.lastId;
      hear(message.events);
    }
  };
  const tell = (message: Message) => {
    if (over.signal.aborted) return;
    if (message.kind === "events") hear(message.events);
    else if (message.kind === "state") setState(message.state);
    channel.postMessage(message);
  };
  channel.postMessage({ kind: "ask" } satisfies Message);
  void navigator.locks
    .request(name, { signal: over.signal }, async () => {
      isLeader = true;
      await lead(organizationId, tell, over.signal);
    })
    .catch(() => undefined);
  return () => {
    over.abort();
    channel.close();
    lastId = null;
    setState("lost");
  };
}

/** Keep the connection, whatever happens to it, until the tab follows no longer. */
async function lead(organizationId: string, tell: (message: Message) => void, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    const status = await connectOnce(organizationId, tell, over);
    if (over.aborted) return;
    if (status === 401) session.end();
    const isCrowded = status === 429;
    // Whoever may not watch is told so by the page's own calls.
    const isRefused = status !== null && status >= 400 && status < 500;
    tell({ kind: "state", state: isRefused ? "none" : "lost" });
    await pause(isCrowded || isRefused ? CROWDED_MILLISECONDS : AGAIN_MILLISECONDS, over);
  }
}

/** One connection to its end; answers the status of a refusal, or null where it broke or was ended. */
async function connectOnce(organizationId: string, tell: (message: Message) => void, over: AbortSignal): Promise<number | null> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), SILENCE_MILLISECONDS);
  try {
    const response = await fetch(`/v0/orgs/${organizationId}/events`, {
      headers: { ...session.headers(), Accept: "text/event-stream", ...(lastId !== null && { "Last-Event-ID": lastId }) },
      signal: AbortSignal.any([over, silence.signal]),
      cache: "no-store",
    });
    if (!response.ok) return response.status;
    let untold: LiveEvent[] = [];
    await forEachBlock(response, (block: Block) => {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_MILLISECONDS);
      if (block.data !== undefined) {
        if (state !== "live") tell({ kind: "state", state: "live" });
        untold.push({ name: block.name, data: block.data });
      }
      // Events that come together end with an id: they are handed on as one.
      if (block.id === null) return;
      lastId = block.id;
      if (untold.length > 0) tell({ kind: "events", events: untold, lastId });
      untold = [];
    });
    return null;
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
  }
}

function pause(milliseconds: number, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    over.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
