"use client";

import { usePathname } from "next/navigation";

import { PageHead } from "@/components/page-head";
import { Tabs } from "@/components/tabs";
import { type Operation, usePermissions } from "@/state/permissions";

const TABS: { id: string; label: string; href: string; needs?: Operation }[] = [
  { id: "people", label: "People", href: "/settings/people/" },
  { id: "tokens", label: "Access tokens", href: "/settings/tokens/", needs: "list_access_tokens" },
  { id: "providers", label: "Providers", href: "/settings/providers/" },
  { id: "organization", label: "Organization", href: "/settings/organization/" },
  { id: "audit-log", label: "Audit log", href: "/settings/audit-log/", needs: "list_audit_entries" },
];

export function SettingsHead({ children }: { children?: React.ReactNode }) {
  const pathname = usePathname();
  const { may } = usePermissions();
  const current = TABS.find((tab) => pathname.startsWith(tab.href))?.id ?? "tokens";
  return (
    <>
      <PageHead title="Settings">{children}</PageHead>
      <Tabs
        label="Settings"
        tabs={TABS.filter((tab) => tab.id === current || tab.needs === undefined || may(tab.needs))}
        current={current}
      />
    </>
  );
}
