"use client";

import { formatAbsolute, formatMoment, UNKNOWN } from "@/lib/format";
import { useNow } from "@/state/now";

/** A moment: how long ago, with the absolute time as a tooltip; `isPlanned`: it may be still to come. */
export function Time({ at, isPlanned = false }: { at: string | null | undefined; isPlanned?: boolean }) {
  const now = useNow();
  if (!at) return <span>{UNKNOWN}</span>;
  // What has happened is never ahead: the clock here is renewed every 15 s, and the server's may be another.
  const seenAt = isPlanned ? now : Math.max(now, Date.parse(at));
  return (
    <time dateTime={at} title={formatAbsolute(at)} suppressHydrationWarning>
      {now === 0 ? "" : formatMoment(at, seenAt)}
    </time>
  );
}
