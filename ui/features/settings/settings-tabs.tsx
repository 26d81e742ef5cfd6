"use client";

import { usePathname } from "next/navigation";

import { PageHead } from "@/components/page-head";
import { Tabs } from "@/components/tabs";

const TABS = [
  { id: "people", label: "People", href: "/settings/people/" },
  { id: "tokens", label: "Access tokens", href: "/settings/tokens/" },
  { id: "providers", label: "Providers", href: "/settings/providers/" },
  { id: "organization", label: "Organization", href: "/settings/organization/" },
  { id: "audit-log", label: "Audit log", href: "/settings/audit-log/" },
];

export function SettingsHead({ children }: { children?: React.ReactNode }) {
  const pathname = usePathname();
  const current = TABS.find((tab) => pathname.startsWith(tab.href))?.id ?? "tokens";
  return (
    <>
      <PageHead title="Settings">{children}</PageHead>
      <Tabs label="Settings" tabs={TABS} current={current} />
    </>
  );
}
