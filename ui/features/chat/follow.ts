/** The events of an answer, by server-sent events over fetch: EventSource can send no token. */

import { ApiError } from "@/api/errors";
import { forEachBlock } from "@/lib/event-stream";
import { session } from "@/state/session";

export interface ChatEvent {
  name: string;
  data: unknown;
}

const AGAIN_MILLISECONDS = 1_000;

/** Hand on each event until the answer is done. A connection that breaks is made again after the last event that came. */
export async function follow(path: string, onEvent: (event: ChatEvent) => void, signal: AbortSignal): Promise<void> {
  const place: { id: string | null } = { id: null };
  let isDone = false;
  while (!signal.aborted && !isDone) {
    try {
      const response = await fetch(path, {
        headers: { ...session.headers(), ...(place.id !== null && { "Last-Event-ID": place.id }) },
        signal,
      });
      if (!response.ok) throw new ApiError(response.status, await response.json().catch(() => null), response.headers);
      await forEachBlock(response, ({ name, data, id }) => {
        place.id = id ?? place.id;
        // Without data it is a sign of life.
        if (data !== undefined) onEvent({ name, data });
        isDone ||= name === "done";
      });
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MILLISECONDS));
  }
}
