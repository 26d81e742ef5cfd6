import type { Schemas } from "@/api/client";

/** What was found that is not as it should be, in words. */
const DRIFT_WORDS: Record<Schemas["DriftKind"], string> = {
  missing: "Document not indexed",
  stale: "Indexed, but no member any more",
  outdated: "Indexed from an older text or setting",
  hollow: "Vectors incomplete",
  orphan: "Vectors that belong to nothing",
  unindexed: "Vectors that no entry names",
  unregistered: "Vectors without their record",
  lost_collection: "Vectors lost",
  lost_index: "Database index lost",
  unsearchable: "Search index lost",
  lost_epoch: "Freshness counter lost",
  uncounted: "Counts wrong",
  unsettled: "Shown as indexing, though done",
  uncached: "Embedding missing in the cache",
  stuck_document: "Document never read",
  lost_text: "Extracted text lost",
  lost_file: "File lost",
  lost_document: "File whose document is lost",
  orphaned_file: "File of no document",
  orphaned_text: "Text of no document",
  abandoned_text: "Text left by an interrupted reading",
  abandoned_upload: "Bytes left by an interrupted upload",
  half_deleted: "Deleted by half",
  half_created: "Created by half",
};

/** Kinds that no repair brings back. */
export const NEEDS_A_PERSON: ReadonlySet<string> = new Set(["lost_file", "lost_document"]);

export function driftWords(kind: string): string {
  return (DRIFT_WORDS as Record<string, string>)[kind] ?? kind;
}
