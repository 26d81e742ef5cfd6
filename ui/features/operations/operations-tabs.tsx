"use client";

import { parseAsStringLiteral, useQueryState } from "nuqs";

import { PageHead } from "@/components/page-head";
import { Tabs } from "@/components/tabs";

import { Operations } from "./operations";
import { Reports } from "./reports";
import { WorkersTable } from "./workers-table";

const TABS = ["jobs", "workers", "reports"] as const;
const LINKS = [
  { id: "jobs", label: "Jobs", href: "/operations/" },
  { id: "workers", label: "Workers", href: "/operations/?tab=workers" },
  { id: "reports", label: "Reports", href: "/operations/?tab=reports" },
];

/** Jobs, the processes that run them, and reports of the passes that look for what is not as it should be. */
export function OperationsTabs() {
  const [tab] = useQueryState("tab", parseAsStringLiteral(TABS).withDefault("jobs"));
  const tabs = <Tabs label="Operations" tabs={LINKS} current={tab} />;
  if (tab === "jobs") return <Operations tabs={tabs} />;
  return (
    <>
      <PageHead title="Operations" />
      {tabs}
      {tab === "workers" ? <WorkersTable /> : <Reports />}
    </>
  );
}
