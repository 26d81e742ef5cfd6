"use client";

import { useQueryClient } from "@tanstack/react-query";
import { WifiOff } from "lucide-react";
import { useEffect, useState } from "react";

import { useReachable } from "@/state/connection";
import { useLiveState } from "@/state/live";

const NOTICE_MILLISECONDS = 5_000;
const TRY_MILLISECONDS = 15_000;

/** Told after 5 s without an answer, or without events that should come, so that a restart of the server does not flash;
asks every 15 s for what is shown, as long as nothing is told. */
export function ConnectionNotice() {
  const isReachable = useReachable();
  const live = useLiveState();
  const isLost = !isReachable || live === "lost";
  const client = useQueryClient();
  const [isShown, setShown] = useState(false);

  useEffect(() => {
    if (!isLost) return;
    const notice = setTimeout(() => setShown(true), NOTICE_MILLISECONDS);
    return () => {
      clearTimeout(notice);
      setShown(false);
    };
  }, [isLost]);
  useEffect(() => {
    if (!isLost && live === "live") return;
    const retry = setInterval(() => void client.refetchQueries({ type: "active" }), TRY_MILLISECONDS);
    return () => clearInterval(retry);
  }, [isLost, live, client]);

  if (!isShown) return null;
  return (
    <div role="status" className="flex items-center gap-2 bg-warn-bg px-4 py-2 text-warn">
      <WifiOff aria-hidden size={14} /> Reconnecting… What you see may be out of date.
    </div>
  );
}
