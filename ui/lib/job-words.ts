import type { Schemas } from "@/api/client";

export type JobKind = Schemas["JobKind"];

/** What a job does, in words. */
export const KIND_WORDS: Record<JobKind, string> = {
  extract: "Read the file",
  membership_document: "Find its knowledge bases",
  membership_kb: "Find its documents",
  sync: "Index",
  sweep: "Sweep old vectors",
  clean_document: "Clean up after a document",
  drop_kb: "Drop a knowledge base",
  erase: "Erase",
  reconcile: "Look for damage",
  run_prompt: "Run a prompt",
  membership_prompt: "Find a prompt's documents",
  clean_prompt: "Clean up after a prompt",
};
