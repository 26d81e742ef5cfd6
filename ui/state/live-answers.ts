/** Keeps the answers that a page holds as they are now: events change them, or have them asked for anew. */

import type { QueryClient, QueryKey } from "@tanstack/react-query";

import { documentKeys, jobKeys, kbKeys } from "@/api/keys";
import type { Document, KnowledgeBase } from "@/api/queries";
import type { Progress } from "@/lib/document-state";
import { type LiveDocument, movesInLists, withDocument, withKnowledgeBase, withProgress } from "@/lib/live-patches";
import type { LiveEvent } from "@/state/live";

/** Lists are asked for anew at most this often, however much happens. */
const LIST_MILLISECONDS = 1_000;
/** What events tell of. */
export const FOLLOWED = [documentKeys.all, kbKeys.all, jobKeys.all] as const;
/** Counts of pages come with the events themselves; texts and files change with their document only. */
export const UNTOUCHED: ReadonlySet<unknown> = new Set(["extracting", "text", "original"]);

/** Applies the events of an organization to the answers of one client. */
export class LiveAnswers {
  private readonly stale: StaleKeys;

  constructor(private readonly client: QueryClient) {
    this.stale = new StaleKeys(client);
  }

  apply({ name, data }: LiveEvent): void {
    switch (name) {
      case "document":
        this.applyDocument(data as LiveDocument);
        break;
      case "document_deleted":
        this.stale.add(documentKeys.lists);
        this.stale.add(documentKeys.counts);
        break;
      case "knowledge_base": {
        const base = data as KnowledgeBase;
        this.client.setQueriesData({ queryKey: kbKeys.lists }, (held: unknown) => withKnowledgeBase(held, base));
        this.client.setQueryData(kbKeys.one(base.kb_id), (held: KnowledgeBase | undefined) => held && { ...held, ...base });
        this.askAgainIfUnderWay(kbKeys.one(base.kb_id));
        this.stale.add(kbKeys.lists);
        break;
      }
      case "knowledge_base_deleted":
        this.stale.add(kbKeys.lists);
        break;
      case "job":
      case "job_ended":
        this.stale.add(jobKeys.all);
        break;
      case "reset":
      case "ready":
      case "closed":
        // Of what changed before the connection stood, nothing was told; a caller who may not know is told so by the calls.
        for (const key of FOLLOWED) this.stale.add(key);
        break;
      default:
        break;
    }
  }

  stop(): void {
    this.stale.stop();
  }

  private applyDocument(document: LiveDocument): void {
    const { client, stale } = this;
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
    this.askAgainIfUnderWay(key);
    this.askAgainIfUnderWay(documentKeys.lists);
    if (movesInLists(before, document)) stale.add(documentKeys.lists);
    if (before !== undefined && before.state !== document.state) stale.add(documentKeys.text(document.document_id));
    if (document.state === "failed" || before?.state === "failed") stale.add(documentKeys.counts);
    stale.add(documentKeys.log(document.document_id));
    for (const base of document.knowledge_bases) stale.add(kbKeys.documents(base.kb_id));
  }

  /** An answer that is under way may be older than the event, and would stay: nothing tells of that change again. */
  private askAgainIfUnderWay(queryKey: QueryKey): void {
    if (this.client.isFetching({ queryKey }) > 0) this.stale.add(queryKey);
  }
}

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
      // Cancelled again and again, a slow answer would never be shown: whatever comes meanwhile is asked for after it.
      if (this.client.isFetching({ queryKey }) > 0) {
        this.add(queryKey);
        continue;
      }
      void this.client.invalidateQueries({
        queryKey,
        predicate: (query) => queryKey.length > 1 || !UNTOUCHED.has(query.queryKey[1]),
      });
    }
  }
}
