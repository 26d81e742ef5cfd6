"use client";

import { type QueryClient, type QueryKey, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { documentKeys, jobKeys, kbKeys } from "@/api/keys";
import type { Document, KnowledgeBase } from "@/api/queries";
import type { Progress } from "@/lib/document-state";
import { followOrganization, type LiveEvent, onLiveEvents } from "@/state/live";
import { Happenings, type LiveDocument, movesInLists, withDocument, withKnowledgeBase, withProgress } from "@/lib/live-patches";

/** Lists are asked for anew at most this often, however much happens. */
const LIST_MILLISECONDS = 1_000;
const SUMMARY_MILLISECONDS = 10_000;
/** An answer that is younger was asked for while the connection was being made. */
const FRESH_MILLISECONDS = 5_000;
/** What events tell of. */
const FOLLOWED = [documentKeys.all, kbKeys.all, jobKeys.all] as const;

/** Keeps what the page shows as it is now: events change the answers that it holds, or have them asked for anew. */
export function LiveUpdates({ organizationId }: { organizationId: string }) {
  const client = useQueryClient();
  const [summary, setSummary] = useState("");
  useEffect(() => {
    const stale = new StaleKeys(client);
    const happenings = new Happenings();
    let wasReady = false;
    const stopHearing = onLiveEvents((events) => {
      for (const event of events) {
        if (event.name === "ready" && !wasReady) refreshOlder(client);
        else apply(client, stale, happenings, event);
        wasReady ||= event.name === "ready";
      }
    });
    const stopFollowing = followOrganization(organizationId);
    const telling = setInterval(() => setSummary(happenings.summary()), SUMMARY_MILLISECONDS);
    return () => {
      stopFollowing();
      stopHearing();
      stale.stop();
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

function apply(client: QueryClient, stale: StaleKeys, happenings: Happenings, { name, data }: LiveEvent): void {
  switch (name) {
    case "document":
      happenings.note(data as LiveDocument);
      applyDocument(client, stale, data as LiveDocument);
      break;
    case "document_deleted":
      stale.add(documentKeys.lists);
      stale.add(documentKeys.counts);
      break;
    case "knowledge_base": {
      const base = data as KnowledgeBase;
      client.setQueriesData({ queryKey: kbKeys.lists }, (held: unknown) => withKnowledgeBase(held, base));
      client.setQueryData(kbKeys.one(base.kb_id), (held: KnowledgeBase | undefined) => held && { ...held, ...base });
      stale.add(kbKeys.lists);
      break;
    }
    case "knowledge_base_deleted":
      stale.add(kbKeys.lists);
      break;
    case "job":
    case "job_ended":
      stale.add(jobKeys.all);
      break;
    case "reset":
    case "ready":
    case "closed":
      // Of what changed before the connection stood, nothing was told; a caller who may not know is told so by the calls.
      for (const key of FOLLOWED) stale.add(key);
      break;
    default:
      break;
  }
}

function applyDocument(client: QueryClient, stale: StaleKeys, document: LiveDocument): void {
  const key = documentKeys.one(document.document_id);
  const { extraction: _extraction, ...detail } = document;
  let before: Document | undefined = client.getQueryData<Document>(key);
  client.setQueryData(key, (held: Document | undefined) => held && detail);
  client.setQueriesData({ queryKey: documentKeys.lists }, (held: unknown) => {
    const next = withDocument(held, document);
    if (next !== held) {
      before = (held as { documents: Document[] }).documents.find((row) => row.document_id === document.document_id) ?? before;
    }
    return next;
  });
  client.setQueryData(jobKeys.extracting, (held: ReadonlyMap<string, Progress> | undefined) => withProgress(held, document));
  if (movesInLists(before, document)) stale.add(documentKeys.lists);
  if (before !== undefined && before.state !== document.state) stale.add(documentKeys.text(document.document_id));
  if (document.state === "failed" || before?.state === "failed") stale.add(documentKeys.counts);
  stale.add(documentKeys.log(document.document_id));
  for (const base of document.knowledge_bases) stale.add(kbKeys.documents(base.kb_id));
}

const UNTOUCHED: ReadonlySet<unknown> = new Set(["extracting", "text", "original"]);

/** Answers that are to be asked for anew: those that are shown, together, and not too often. */
class StaleKeys {
  private keys = new Map<string, QueryKey>();
  private timer: ReturnType<typeof setTimeout> | null = null;
  private lastAt = 0;

  constructor(private readonly client: QueryClient) {}

  add(key: QueryKey): void {
    this.keys.set(JSON.stringify(key), key);
    if (this.timer !== null) return;
    const wait = Math.max(300, this.lastAt + LIST_MILLISECONDS - Date.now());
    this.timer = setTimeout(() => this.send(), wait);
  }

  stop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
  }

  private send(): void {
    this.timer = null;
    this.lastAt = Date.now();
    const keys = [...this.keys.values()];
    this.keys = new Map();
    for (const queryKey of keys) {
      void this.client.invalidateQueries({
        queryKey,
        // Counts of pages come with the events themselves; texts and files change with their document only.
        predicate: (query) => queryKey.length > 1 || !UNTOUCHED.has(query.queryKey[1]),
      });
    }
  }
}
