"use client";

import { useQuery } from "@tanstack/react-query";
import { parseAsInteger, useQueryState } from "nuqs";

import type { Schemas } from "@/api/client";
import { EmptyState, ErrorState, SkeletonRows } from "@/components/feedback";
import { OnlyWhoMay } from "@/components/may";
import { Pager } from "@/components/pager";
import { ScrollArea } from "@/components/scroll-area";
import { State } from "@/components/state";
import { Time } from "@/components/time";
import { DataTable } from "@/components/ui/data-table";
import { useMay } from "@/state/permissions";
import { useLastPage } from "@/state/use-last-page";

import { AuditFilter } from "./audit-filter";
import { actionWords, useAuditFilter } from "./audit-values";
import { SettingsHead } from "./settings-tabs";
import { auditLogQuery, ROWS_A_PAGE } from "./queries";

const actorOf = ({ actor }: Schemas["AuditEntryResponse"]) => (actor.kind === "token" ? `token ${actor.name}` : actor.name);

/** Who did what, latest first. */
export function AuditLog() {
  const may = useMay("list_audit_entries");
  if (may) return <Entries />;
  return (
    <>
      <SettingsHead />
      <OnlyWhoMay to="list_audit_entries" what="read the audit log">
        {null}
      </OnlyWhoMay>
    </>
  );
}

function Entries() {
  const [page, setPage] = useQueryState("page", parseAsInteger.withDefault(1));
  const [filter, setFilter] = useAuditFilter();
  const isFiltered = Object.values(filter).some((value) => value !== "");
  const skip = (Math.max(1, page) - 1) * ROWS_A_PAGE;
  const { data, error, refetch } = useQuery(auditLogQuery(skip, filter));
  useLastPage(page, data?.total_count, ROWS_A_PAGE, (last) => setPage(last, { history: "replace" }));
  return (
    <>
      <SettingsHead />
      <AuditFilter
        values={filter}
        onChange={(change) => {
          void setPage(null);
          void setFilter(change);
        }}
      />
      <ScrollArea label="Entries">
        {error && !data ? (
          <ErrorState error={error} retry={() => void refetch()} />
        ) : data?.total_count === 0 ? (
          <EmptyState title={isFiltered ? "No matching entries" : "No entries yet"}>
            {isFiltered
              ? "Choose another person, action or period."
              : "Sign-ins and changes to people, tokens, keys and settings are recorded here, and deletions."}
          </EmptyState>
        ) : (
          <DataTable
            caption="Audit log"
            head={
              <>
                <th className="w-[130px] pl-4! max-md:w-[104px]">When</th>
                <th className="max-md:hidden">Who</th>
                <th data-column="name">What</th>
                <th className="max-md:hidden @max-[760px]:hidden">Target</th>
                <th className="w-[140px] @max-[880px]:hidden">From</th>
                <th className="w-[110px] max-md:hidden">Result</th>
              </>
            }
          >
            {data === undefined ? (
              <SkeletonRows rows={8} columns={["60%", "60%", "60%", "60%", "60%", "60%"]} />
            ) : (
              data.entries.map((entry) => (
                <tr key={entry.entry_id}>
                  <td className="pl-4! text-text-2">
                    <Time at={entry.at} />
                  </td>
                  <td className="max-md:hidden" title={entry.actor.name}>
                    {actorOf(entry)}
                  </td>
                  <td title={actionWords(entry.action)}>
                    {actionWords(entry.action)}
                    <span className="flex min-w-0 items-center gap-2 text-text-2 md:hidden">
                      <span className="truncate">{actorOf(entry)}</span>
                      {entry.status >= 400 && <State tone="failed">Refused</State>}
                    </span>
                  </td>
                  <td className="font-mono text-xs text-text-2 max-md:hidden @max-[760px]:hidden">
                    {Object.values(entry.target).join(" ")}
                  </td>
                  <td className="text-text-2 @max-[880px]:hidden">{entry.address ?? ""}</td>
                  <td className="max-md:hidden">
                    {entry.status < 400 ? <State tone="ready">Done</State> : <State tone="failed">Refused</State>}
                  </td>
                </tr>
              ))
            )}
          </DataTable>
        )}
      </ScrollArea>
      {data && data.total_count > ROWS_A_PAGE && (
        <Pager
          skip={data.skip}
          shown={data.entries.length}
          total={data.total_count}
          page={page}
          pageCount={Math.ceil(data.total_count / ROWS_A_PAGE)}
          onPage={(next) => void setPage(next, { history: "push" })}
        />
      )}
    </>
  );
}
