"use client";

import { EmptyState, SkeletonBlock } from "@/components/feedback";
import { type Operation, useMay, usePermissions } from "@/state/permissions";

/** What only those see who may call the operation; it is absent for everybody else. */
export function May({ to, children }: { to: Operation; children: React.ReactNode }) {
  return useMay(to) ? children : null;
}

/** A page that a direct link may lead anybody to: who may not use it is told who can. */
export function OnlyWhoMay({ to, what, children }: { to: Operation; what: string; children: React.ReactNode }) {
  const { isKnown, may, whoMay } = usePermissions();
  if (!isKnown) return <SkeletonBlock lines={6} />;
  if (may(to)) return children;
  return <EmptyState title={`${whoMay(to)} can ${what}`}>Ask one of them, or an owner for another role or token.</EmptyState>;
}
