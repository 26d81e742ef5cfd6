import type { Schemas } from "@/api/client";

/** What was found that is not as it should be, in words. */
const DRIFT_WORDS: Record<Schemas["DriftKind"], string> = {
  missing: "Document not indexed",
  stale: "Indexed, but no longer shares a tag",
  outdated: "Indexed from an older text or older settings",
  hollow: "Vectors incomplete",
  orphan: "Vectors without a document",
  unindexed: "Vectors not listed in the index",
  unregistered: "Vectors of an unrecorded version",
  lost_collection: "Vectors lost",
  lost_index: "Database index lost",
  unsearchable: "Search index lost",
  lost_epoch: "Index version lost",
  uncounted: "Counts incorrect",
  unsettled: "Still shown as indexing",
  uncached: "Embedding missing from the cache",
  stuck_document: "Document never extracted",
  lost_text: "Extracted text lost",
  lost_file: "File lost",
  lost_document: "File whose document record is lost",
  orphaned_file: "File without a document",
  orphaned_text: "Text without a document",
  abandoned_text: "Text left by an interrupted extraction",
  abandoned_upload: "Data left by an interrupted upload",
  half_deleted: "Deletion incomplete",
  half_created: "Creation incomplete",
};

/** Kinds that no repair brings back. */
export const NEEDS_A_PERSON: ReadonlySet<string> = new Set(["lost_file", "lost_document"]);

export function driftWords(kind: string): string {
  return (DRIFT_WORDS as Record<string, string>)[kind] ?? kind;
}
