"use client";

import { formatAbsolute, formatMoment, UNKNOWN } from "@/lib/format";
import { useNow } from "@/lib/now";

/** A moment: how long ago, with the absolute time as a tooltip. */
export function Time({ at }: { at: string | null | undefined }) {
  const now = useNow();
  if (!at) return <span>{UNKNOWN}</span>;
  return (
    <time dateTime={at} title={formatAbsolute(at)} suppressHydrationWarning>
      {now === 0 ? "" : formatMoment(at, now)}
    </time>
  );
}
