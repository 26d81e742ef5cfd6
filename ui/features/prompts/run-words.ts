import type { Tone } from "@/components/state";

import type { Run, RunStatus } from "./queries";

export const STATUSES: readonly RunStatus[] = ["queued", "running", "succeeded", "failed", "cancelled"];

export const STATUS_WORDS: Record<RunStatus, string> = {
  queued: "Waiting",
  running: "Running",
  succeeded: "Answered",
  failed: "Failed",
  cancelled: "Cancelled",
};

const TONES: Record<RunStatus, Tone> = {
  queued: "queued",
  running: "working",
  succeeded: "ready",
  failed: "failed",
  cancelled: "absent",
};

export function runState(run: Pick<Run, "status">): { tone: Tone; label: string } {
  return { tone: TONES[run.status], label: STATUS_WORDS[run.status] };
}

export interface NextStep {
  href: string;
  label: string;
}

/** Where what stopped a run can be put right; null where its own words are all there is to say. */
export function whatToDo(code: string, promptId: string): NextStep | null {
  switch (code) {
    case "provider_key_missing":
    case "provider_refused":
    case "access_denied":
      return { href: "/settings/providers/", label: "Check the provider key" };
    case "no_chat_model":
    case "model_not_allowed":
    case "token_budget_exceeded":
    case "answer_not_by_schema":
    case "answer_not_json":
    case "empty_answer":
    case "not_found":
      return { href: `/prompts/view/?id=${promptId}&tab=edit`, label: "Change the prompt" };
    case "quota_exceeded":
      return { href: "/usage/", label: "View usage" };
    default:
      return null;
  }
}

const DOLLARS = new Intl.NumberFormat("en-GB", { minimumFractionDigits: 2, maximumFractionDigits: 4 });

/** "US$0.0042"; calls of unknown price are not in the sum, which is then said. */
export function costWords(usage: Pick<Run["usage"], "cost_usd" | "unpriced_calls" | "model_calls">): string {
  if (usage.model_calls === 0) return "–";
  if (usage.unpriced_calls >= usage.model_calls) return "price unknown";
  const sum = usage.cost_usd > 0 && usage.cost_usd < 0.0001 ? "under US$0.0001" : `US$${DOLLARS.format(usage.cost_usd)}`;
  return usage.unpriced_calls > 0 ? `${sum} plus calls of unknown price` : sum;
}
