"use client";

import { parseAsStringLiteral, useQueryState } from "nuqs";

import { OnlyWhoMay } from "@/components/may";
import { PageHead } from "@/components/page-head";
import { type TabLink, Tabs } from "@/components/tabs";

import { Backups } from "./backups";
import { Operations } from "./operations";
import { Reports } from "./reports";
import { WorkersTable } from "./workers-table";

const TABS = ["jobs", "workers", "reports", "backups"] as const;
const LINKS: readonly (TabLink & { id: (typeof TABS)[number] })[] = [
  { id: "jobs", label: "Jobs", href: "/operations/" },
  { id: "workers", label: "Workers", href: "/operations/?tab=workers", needs: "get_workers" },
  { id: "reports", label: "Reports", href: "/operations/?tab=reports" },
  { id: "backups", label: "Backups", href: "/operations/?tab=backups", needs: "list_backups" },
];

/** Jobs, the processes that run them, reports of the passes that look for what is not as it should be, and backups. */
export function OperationsTabs() {
  const [tab] = useQueryState("tab", parseAsStringLiteral(TABS).withDefault("jobs"));
  const tabs = <Tabs label="Operations" tabs={LINKS} current={tab} />;
  if (tab === "jobs") return <Operations tabs={tabs} />;
  return (
    <>
      <PageHead title="Operations" />
      {tabs}
      {tab === "reports" ? (
        <Reports />
      ) : tab === "workers" ? (
        <OnlyWhoMay to="get_workers" what="see the workers">
          <WorkersTable />
        </OnlyWhoMay>
      ) : (
        <OnlyWhoMay to="list_backups" what="see the backups">
          <Backups />
        </OnlyWhoMay>
      )}
    </>
  );
}
