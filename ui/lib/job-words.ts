import type { Schemas } from "@/api/client";

export type JobKind = Schemas["JobKind"];

/** What a job does, in words. */
export const KIND_WORDS: Record<JobKind, string> = {
  extract: "Extract text",
  membership_document: "Match knowledge bases",
  membership_kb: "Match documents",
  sync: "Index",
  sweep: "Remove old vectors",
  clean_document: "Clean up after a document",
  drop_kb: "Delete a knowledge base",
  erase: "Erase",
  reconcile: "Check consistency",
  run_prompt: "Run a prompt",
  membership_prompt: "Match a prompt's documents",
  clean_prompt: "Clean up after a prompt",
  run_source: "Run a source",
  clean_source: "Clean up after a source",
};
