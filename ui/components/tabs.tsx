import Link from "next/link";

export interface TabLink {
  id: string;
  label: string;
  href: string;
}

/** Tabs are links: each has its address, and Back goes to the one before. */
export function Tabs({ tabs, current, label }: { tabs: readonly TabLink[]; current: string; label: string }) {
  return (
    <nav aria-label={label} className="flex flex-wrap border-b border-line px-3">
      {tabs.map((tab) => (
        <Link key={tab.id} href={tab.href} className="tab" aria-current={tab.id === current ? "page" : undefined} scroll={false}>
          {tab.label}
        </Link>
      ))}
    </nav>
  );
}
