/** What an event of the organization changes in answers that the page holds already: decisions without React. */

import type { Schemas } from "@/api/client";
import type { Document, DocumentDetail, KnowledgeBase } from "@/api/queries";
import { documentState, type Progress } from "@/lib/document-state";
import { plural } from "@/lib/format";

export type LiveDocument = DocumentDetail & { extraction: Schemas["ProgressResponse"] | null };

interface DocumentPage {
  documents: Document[];
}
interface BasePage {
  knowledge_bases: KnowledgeBase[];
}

function isDocumentPage(held: unknown): held is DocumentPage {
  return typeof held === "object" && held !== null && Array.isArray((held as Partial<DocumentPage>).documents);
}

function isBasePage(held: unknown): held is BasePage {
  return typeof held === "object" && held !== null && Array.isArray((held as Partial<BasePage>).knowledge_bases);
}

/** The page with the document as it is now; the same page where it is not on it. */
export function withDocument<Held>(held: Held, document: LiveDocument): Held {
  if (!isDocumentPage(held)) return held;
  const at = held.documents.findIndex((row) => row.document_id === document.document_id);
  const row = held.documents[at];
  // An answer may have overtaken the event.
  if (row === undefined || row.updated_at > document.updated_at) return held;
  const { extraction: _extraction, ...fields } = document;
  const documents = [...held.documents];
  documents[at] = { ...row, ...fields };
  return { ...held, documents };
}

export function withKnowledgeBase<Held>(held: Held, base: KnowledgeBase): Held {
  if (!isBasePage(held) || !held.knowledge_bases.some((row) => row.kb_id === base.kb_id)) return held;
  const bases = held.knowledge_bases.map((row) => (row.kb_id === base.kb_id ? { ...row, ...base } : row));
  return { ...held, knowledge_bases: bases };
}

/** Whether lists have to be asked for anew: the document is new, or may have come under another filter. */
export function movesInLists(before: Document | undefined, now: LiveDocument): boolean {
  return (
    before === undefined ||
    before.state !== now.state ||
    before.document_name !== now.document_name ||
    before.tag_ids.join() !== now.tag_ids.join()
  );
}

/** How far extractions are, with this document's; the same map where nothing changed. */
export function withProgress(
  held: ReadonlyMap<string, Progress> | undefined,
  document: LiveDocument,
): ReadonlyMap<string, Progress> | undefined {
  const before = held?.get(document.document_id);
  const now = document.extraction;
  if (now === null && before === undefined) return held;
  if (now !== null && before?.done === now.done && before.total === now.total) return held;
  const next = new Map(held);
  if (now === null) next.delete(document.document_id);
  else next.set(document.document_id, now);
  return next;
}

/** What somebody who does not see the page is told of a while: documents by the state that they came to. */
export class Happenings {
  private readonly last = new Map<string, string>();
  private ready = new Set<string>();
  private failed = new Set<string>();
  private waiting = new Set<string>();

  note(document: LiveDocument): void {
    const { tone } = documentState(document, document.extraction);
    const id = document.document_id;
    const before = this.last.get(id);
    this.last.set(id, tone);
    // Those whose work was over before this page was opened are no news.
    if (before === undefined && tone !== "working" && tone !== "queued" && document.state === "extracted") return;
    if (before === tone) return;
    for (const kept of [this.ready, this.failed, this.waiting]) kept.delete(id);
    if (tone === "failed") this.failed.add(id);
    else if (tone === "waiting-for-quota") this.waiting.add(id);
    else if (tone === "ready" || tone === "absent" || tone === "warning") this.ready.add(id);
  }

  /** One sentence, or an empty one; what it has told it tells no more. */
  summary(): string {
    const parts = [
      this.ready.size > 0 && `${plural(this.ready.size, "document")} done`,
      this.failed.size > 0 && `${plural(this.failed.size, "document")} failed`,
      this.waiting.size > 0 && `${plural(this.waiting.size, "document")} waiting for quota`,
    ].filter((part) => part !== false);
    this.ready = new Set();
    this.failed = new Set();
    this.waiting = new Set();
    if (this.last.size > MOST_REMEMBERED) this.last.clear();
    return parts.length === 0 ? "" : `${parts.join(", ")}.`;
  }
}

const MOST_REMEMBERED = 5_000;
