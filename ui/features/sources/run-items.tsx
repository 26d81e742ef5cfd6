"use client";

import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { BusyLine, EmptyState, ErrorState, SkeletonRows } from "@/components/feedback";
import { Pager } from "@/components/pager";
import { State } from "@/components/state";
import { Button } from "@/components/ui/button";
import { DataTable } from "@/components/ui/data-table";
import { formatCount } from "@/lib/format";

import { FetchAgain } from "./fetch-again";
import { ItemName } from "./items-tab";
import { isLive, type Outcome, outcomesQuery, ROWS, type RunDetail, type RunItem, type Source } from "./queries";
import { countedItems, OUTCOME_TONES, OUTCOME_WORDS, OUTCOMES } from "./words";

/** The items of a run, optionally of one outcome; what follows them comes with them, so that it does not jump. */
export function RunItems({
  run,
  source,
  outcome,
  page,
  onOutcome,
  onPage,
  children,
}: {
  run: RunDetail;
  source: Source;
  outcome: Outcome | null;
  page: number;
  onOutcome: (outcome: Outcome | null) => void;
  onPage: (page: number) => void;
  children: ReactNode;
}) {
  const skip = (page - 1) * ROWS;
  const { data, error, isPlaceholderData, refetch } = useQuery(outcomesQuery(run, outcome, skip, countedItems(run)));
  return (
    <>
      <section aria-label="Items of the run">
        <div className="bar" role="group" aria-label="Outcome">
          <OutcomeButton label="All" count={countedItems(run)} isOn={outcome === null} onToggle={() => onOutcome(null)} />
          {OUTCOMES.map((one) => (
            <OutcomeButton
              key={one}
              label={OUTCOME_WORDS[one]}
              count={run.counts[one]}
              isOn={outcome === one}
              onToggle={() => onOutcome(outcome === one ? null : one)}
            />
          ))}
        </div>
        <BusyLine isBusy={isPlaceholderData} />
        {error && !data ? (
          <ErrorState error={error} retry={() => void refetch()} />
        ) : data?.total_count === 0 ? (
          <NoItems run={run} outcome={outcome} />
        ) : (
          <OutcomeTable items={data?.items} run={run} source={source} />
        )}
        {data && data.total_count > ROWS && (
          <Pager
            skip={skip}
            shown={data.items.length}
            total={data.total_count}
            page={page}
            pageCount={Math.ceil(data.total_count / ROWS)}
            onPage={onPage}
          />
        )}
      </section>
      {(data || error) && children}
    </>
  );
}

function OutcomeButton({ label, count, isOn, onToggle }: { label: string; count: number; isOn: boolean; onToggle: () => void }) {
  return (
    <Button className={isOn ? "bg-selected" : ""} aria-pressed={isOn} onClick={onToggle}>
      {label}
      <span className="min-w-4 text-right text-text-2 tabular-nums">{formatCount(count)}</span>
    </Button>
  );
}

function NoItems({ run, outcome }: { run: RunDetail; outcome: Outcome | null }) {
  if (isLive(run)) return <EmptyState title="No items yet">They appear as the run takes them in.</EmptyState>;
  const isForgotten = (outcome === null ? countedItems(run) : run.counts[outcome]) > 0;
  return (
    <EmptyState title={isForgotten ? "These items are no longer listed" : "No items"}>
      {isForgotten && "Unchanged items are kept for the latest run only."}
    </EmptyState>
  );
}

function OutcomeTable({ items, run, source }: { items: readonly RunItem[] | undefined; run: RunDetail; source: Source }) {
  return (
    <DataTable
      caption="Items of the run"
      head={
        <>
          <th data-column="name" className="pl-4!">
            Item
          </th>
          <th className="w-[120px] max-md:hidden">Outcome</th>
          <th className="w-[42%] max-md:hidden">Reason</th>
          <th className="w-[120px]">
            <span className="sr-only">Actions</span>
          </th>
        </>
      }
    >
      {items === undefined ? (
        <SkeletonRows rows={8} columns={["60%", "60%", "60%", "50%"]} />
      ) : (
        items.map((item) => (
          <tr key={`${item.external_id} ${item.outcome}`}>
            <td className="pl-4!">
              <ItemName name={item.name} documentId={item.outcome === "removed" ? null : item.document_id} />
              <span className="block truncate text-xs text-text-2 md:hidden" title={item.reason ?? undefined}>
                {OUTCOME_WORDS[item.outcome]}
                {item.reason && `: ${item.reason}`}
              </span>
            </td>
            <td className="max-md:hidden">
              <State tone={OUTCOME_TONES[item.outcome]}>{OUTCOME_WORDS[item.outcome]}</State>
            </td>
            <td className="text-text-2 max-md:hidden" title={item.reason ?? undefined}>
              {item.reason}
            </td>
            <td className="text-right">
              {item.outcome !== "removed" && (
                <FetchAgain
                  sourceId={source.source_id}
                  externalId={item.external_id}
                  name={item.name}
                  isBusy={isLive(run) || isLive(source.last_run)}
                />
              )}
            </td>
          </tr>
        ))
      )}
    </DataTable>
  );
}
