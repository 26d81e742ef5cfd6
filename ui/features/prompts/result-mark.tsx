import { BadgeCheck, PencilLine } from "lucide-react";

import type { Result } from "./queries";

/** Verified in green with its sign; edited and open are quiet. */
export function ResultMark({ result }: { result: Pick<Result, "is_verified" | "is_edited"> }) {
  if (result.is_verified) {
    return (
      <span className="inline-flex items-center gap-1.5 text-ready">
        <BadgeCheck aria-hidden size={15} className="shrink-0" /> Verified
      </span>
    );
  }
  return result.is_edited ? (
    <span className="inline-flex items-center gap-1.5 text-text-2">
      <PencilLine aria-hidden size={14} className="shrink-0" /> Edited
    </span>
  ) : (
    <span className="text-text-3">Not verified</span>
  );
}
