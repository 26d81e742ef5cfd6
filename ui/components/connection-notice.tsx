"use client";

import { useQueryClient } from "@tanstack/react-query";
import { WifiOff } from "lucide-react";
import { useEffect, useState } from "react";

import { useReachable } from "@/lib/connection";

const NOTICE_MILLISECONDS = 5_000;
const TRY_MILLISECONDS = 15_000;

/** Told after 5 s without an answer, so that a restart of the server does not flash; tries every 15 s. */
export function ConnectionNotice() {
  const isReachable = useReachable();
  const client = useQueryClient();
  const [isShown, setShown] = useState(false);

  useEffect(() => {
    if (isReachable) return;
    const notice = setTimeout(() => setShown(true), NOTICE_MILLISECONDS);
    const retry = setInterval(() => void client.refetchQueries({ type: "active" }), TRY_MILLISECONDS);
    return () => {
      clearTimeout(notice);
      clearInterval(retry);
      setShown(false);
    };
  }, [isReachable, client]);

  if (!isShown) return null;
  return (
    <div role="status" className="flex items-center gap-2 bg-warn-bg px-4 py-2 text-warn">
      <WifiOff aria-hidden size={14} /> Reconnecting… What you see may be out of date.
    </div>
  );
}
