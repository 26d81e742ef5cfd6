"use client";

import { usePathname } from "next/navigation";

import { PageHead } from "@/components/page-head";
import { type TabLink, Tabs } from "@/components/tabs";

const TABS: readonly TabLink[] = [
  { id: "people", label: "People", href: "/settings/people/" },
  { id: "tokens", label: "Access tokens", href: "/settings/tokens/", needs: "list_access_tokens" },
  { id: "providers", label: "Providers", href: "/settings/providers/" },
  { id: "webhooks", label: "Webhooks", href: "/settings/webhooks/", needs: "list_webhooks" },
  { id: "organization", label: "Organization", href: "/settings/organization/" },
  { id: "audit-log", label: "Audit log", href: "/settings/audit-log/", needs: "list_audit_entries" },
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
