/** The events of an answer, by server-sent events over fetch: EventSource can send no token. */

import { ApiError } from "@/api/errors";
import { session } from "@/lib/session";

export interface ChatEvent {
  name: string;
  data: unknown;
}

const AGAIN_MILLISECONDS = 1_000;

/** Blocks of `text` that are whole, as events; and what is left of it. */
export function readEvents(text: string): { events: (ChatEvent & { id: string | null })[]; rest: string } {
  const blocks = text.split("\n\n");
  const rest = blocks.pop() ?? "";
  const events = [];
  for (const block of blocks) {
    const fields: Record<string, string> = {};
    for (const line of block.split("\n")) {
      const colon = line.indexOf(":");
      if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 1).trimStart();
    }
    // Without data it is a sign of life.
    if (fields.data !== undefined) events.push({ name: fields.event ?? "message", data: JSON.parse(fields.data) as unknown, id: fields.id ?? null });
  }
  return { events, rest };
}

/** Hand on each event until the answer is done. A connection that breaks is made again after the last event that came. */
export async function follow(path: string, onEvent: (event: ChatEvent) => void, signal: AbortSignal): Promise<void> {
  let lastId: string | null = null;
  while (!signal.aborted) {
    try {
      const response = await fetch(path, {
        headers: { ...session.headers(), ...(lastId !== null && { "Last-Event-ID": lastId }) },
        signal,
      });
      if (!response.ok) throw new ApiError(response.status, await response.json().catch(() => null), response.headers);
      const reader = response.body?.getReader();
      const decoder = new TextDecoder();
      let text = "";
      for (;;) {
        const piece = await reader?.read();
        if (piece === undefined || piece.done) break;
        const read = readEvents(text + decoder.decode(piece.value, { stream: true }));
        text = read.rest;
        for (const event of read.events) {
          lastId = event.id ?? lastId;
          onEvent(event);
          if (event.name === "done") return;
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MILLISECONDS));
  }
}
