/** What calls to chat and reranking models cost, grouped as the page groups SPUs. */

import type { Schemas } from "@/api/client";

import type { GroupBy } from "./daily";

type LlmUsageItem = Schemas["LlmUsageItem"];

export interface Cost {
  id: string;
  calls: number;
  promptTokens: number;
  completionTokens: number;
  dollars: number;
  /** Calls of models whose price is not known: not in `dollars`. */
  unpricedCalls: number;
}

function groupOf(item: LlmUsageItem, by: GroupBy): string {
  switch (by) {
    case "kb":
      return item.kb_id ?? "";
    case "model":
      return item.model;
    case "operation":
      return item.operation;
  }
}

/** Dearest first; of equal cost, the one with more calls. */
export function costs(items: readonly LlmUsageItem[], by: GroupBy): Cost[] {
  const groups = new Map<string, Cost>();
  for (const item of items) {
    const id = groupOf(item, by);
    const cost = groups.get(id) ?? { id, calls: 0, promptTokens: 0, completionTokens: 0, dollars: 0, unpricedCalls: 0 };
    cost.calls += item.calls;
    cost.promptTokens += item.prompt_tokens;
    cost.completionTokens += item.completion_tokens;
    cost.dollars += item.cost_usd;
    cost.unpricedCalls += item.unpriced_calls;
    groups.set(id, cost);
  }
  return [...groups.values()].sort((first, second) => second.dollars - first.dollars || second.calls - first.calls);
}

const DOLLARS = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 4 });
const LEAST_SHOWN = 0.0001;

export function formatDollars(dollars: number): string {
  return dollars > 0 && dollars < LEAST_SHOWN ? "under US$0.0001" : `US$${DOLLARS.format(dollars)}`;
}
