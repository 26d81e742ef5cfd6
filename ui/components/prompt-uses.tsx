"use client";

import { useQuery } from "@tanstack/react-query";

import { promptsUsingQuery } from "@/api/queries";
import { plural } from "@/lib/format";

const NAMED = 5;

export interface PromptUses {
  names: readonly string[];
  count: number;
}

/** Prompts that a tag runs or that search a knowledge base; undefined until that is known. */
export function usePromptUses(of: { tagId: string } | { kbId: string } | null): PromptUses | undefined {
  const query = of === null ? {} : "tagId" in of ? { tag_id: of.tagId } : { kb_id: of.kbId };
  const { data } = useQuery({ ...promptsUsingQuery(query, NAMED), enabled: of !== null });
  return data && { names: data.prompts.map((prompt) => prompt.name), count: data.total_count };
}

/** In a question before a deletion: which prompts use it, and what becomes of them. */
export function PromptUsesNote({ uses }: { uses: PromptUses | undefined }) {
  if (!uses || uses.count === 0) return null;
  const more = uses.count - uses.names.length;
  return (
    <span className="mt-2 block text-warn">
      {plural(uses.count, "prompt uses", "prompts use")} it: {uses.names.join(", ")}
      {more > 0 && ` and ${more} more`}. Deleting saves a new version of each without it.
    </span>
  );
}

/** The word on the button of such a question. */
export function deletionWord(uses: PromptUses | undefined, word: string): string {
  return uses && uses.count > 0 ? `Remove from ${plural(uses.count, "prompt")} and delete` : word;
}
