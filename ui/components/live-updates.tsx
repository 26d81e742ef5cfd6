"use client";

import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { Happenings, type LiveDocument } from "@/lib/live-patches";
import { followOrganization, onLiveEvents } from "@/state/live";
import { FOLLOWED, LiveAnswers, UNTOUCHED } from "@/state/live-answers";

const SUMMARY_MILLISECONDS = 10_000;
/** An answer that is younger was asked for while the connection was being made. */
const FRESH_MILLISECONDS = 5_000;

/** Keeps what the page shows as it is now: events change the answers that it holds, or have them asked for anew. */
export function LiveUpdates({ organizationId }: { organizationId: string }) {
  const client = useQueryClient();
  const [summary, setSummary] = useState("");
  useEffect(() => {
    const answers = new LiveAnswers(client);
    const happenings = new Happenings();
    let wasReady = false;
    const stopHearing = onLiveEvents((events) => {
      for (const event of events) {
        if (event.name === "ready" && !wasReady) refreshOlder(client);
        else answers.apply(event);
        if (event.name === "document") happenings.note(event.data as LiveDocument);
        wasReady ||= event.name === "ready";
      }
    });
    const stopFollowing = followOrganization(organizationId);
    const telling = setInterval(() => setSummary(happenings.summary()), SUMMARY_MILLISECONDS);
    return () => {
      stopFollowing();
      stopHearing();
      answers.stop();
      clearInterval(telling);
    };
  }, [client, organizationId]);
  return (
    <div className="sr-only" role="status" aria-live="polite" data-live-summary>
      {summary}
    </div>
  );
}

/** The first connection of a page: what it asked for a moment ago is not asked for again. */
function refreshOlder(client: QueryClient): void {
  for (const queryKey of FOLLOWED) {
    void client.invalidateQueries({
      queryKey,
      predicate: ({ queryKey: [, what], state }) =>
        !UNTOUCHED.has(what) && state.fetchStatus === "idle" && state.dataUpdatedAt < Date.now() - FRESH_MILLISECONDS,
    });
  }
}
