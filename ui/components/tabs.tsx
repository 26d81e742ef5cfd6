"use client";

import Link from "next/link";

import { type Operation, usePermissions } from "@/state/permissions";

export interface TabLink {
  id: string;
  label: string;
  href: string;
  /** The operation without which the tab is of no use: who may not call it does not see the tab. */
  needs?: Operation;
}

/** Tabs are links: each has its address, and Back goes to the one before. */
export function Tabs({ tabs, current, label }: { tabs: readonly TabLink[]; current: string; label: string }) {
  const { isKnown, may } = usePermissions();
  // A tab that came later would push those after it aside: none is seen before it is known which there are.
  const isAwaited = !isKnown && tabs.some(({ needs }) => needs !== undefined);
  const shown = tabs.filter(({ id, needs }) => isAwaited || id === current || needs === undefined || may(needs));
  return (
    <nav aria-label={label} className={`flex flex-wrap border-b border-line px-3 ${isAwaited ? "invisible" : ""}`}>
      {shown.map((tab) => (
        <Link key={tab.id} href={tab.href} className="tab" aria-current={tab.id === current ? "page" : undefined} scroll={false}>
          {tab.label}
        </Link>
      ))}
    </nav>
  );
}
