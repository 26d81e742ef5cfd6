"use client";

import { useQuery } from "@tanstack/react-query";
import { Play } from "lucide-react";
import Link from "next/link";

import { BusyLine, EmptyState, ErrorState, SkeletonRows } from "@/components/feedback";
import { Pager } from "@/components/pager";
import { State } from "@/components/state";
import { Time } from "@/components/time";
import { Button, ButtonLink } from "@/components/ui/button";
import { DataTable } from "@/components/ui/data-table";
import { formatCount, formatMilliseconds } from "@/lib/format";
import { useMay } from "@/state/permissions";
import { useLastPage } from "@/state/use-last-page";

import { isLive, isPushOnly, ROWS, type Run, runsQuery, type Source } from "./queries";
import { RunProgress } from "./run-progress";
import { useRuns } from "./use-runs";
import { countWords, OUTCOME_WORDS, OUTCOMES, runKind, runState } from "./words";

/** A page of a tab's list, as the address says. */
export interface ListPlace {
  page: number;
  onPage: (page: number) => void;
  onLastPage: (page: number) => void;
}

/** The runs of a source, latest first, with the progress of the one under way. */
export function RunsTab({ source, place }: { source: Source; place: ListPlace }) {
  const skip = (place.page - 1) * ROWS;
  const { data, error, isPlaceholderData, refetch } = useQuery(runsQuery(source.source_id, skip, isLive(source.last_run)));
  useLastPage(place.page, isPlaceholderData ? undefined : data?.total_count, ROWS, place.onLastPage);
  const live = data?.runs.find(isLive) ?? (isLive(source.last_run) ? source.last_run : null);
  if (error && !data) return <ErrorState error={error} retry={() => void refetch()} />;
  return (
    <>
      {live && <RunProgress run={live} />}
      <BusyLine isBusy={isPlaceholderData} />
      <div className="min-h-0 flex-1 overflow-auto">
        {data?.total_count === 0 ? <NoRuns source={source} /> : <RunTable runs={data?.runs} />}
      </div>
      {data && data.total_count > ROWS && (
        <Pager
          skip={skip}
          shown={data.runs.length}
          total={data.total_count}
          page={place.page}
          pageCount={Math.ceil(data.total_count / ROWS)}
          onPage={place.onPage}
          note="Runs are kept for 30 days."
        />
      )}
    </>
  );
}

function NoRuns({ source }: { source: Source }) {
  const mayRun = useMay("run_source");
  const { start } = useRuns(source.source_id);
  if (isPushOnly(source)) {
    return (
      <EmptyState
        title="Nothing pushed yet"
        action={<ButtonLink href={`/sources/view/?id=${source.source_id}&tab=settings`}>Show the inbound address</ButtonLink>}
      >
        Programs push items to the inbound address, which the settings open and show. The pushes of each hour are listed here.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      title="No runs yet"
      action={
        mayRun && (
          <>
            <Button variant="primary" disabled={start.isPending} onClick={() => start.mutate({})}>
              <Play aria-hidden size={14} /> Run it
            </Button>
            <Button disabled={start.isPending} onClick={() => start.mutate({ dry_run: true })}>
              Try a dry run
            </Button>
          </>
        )
      }
    >
      Each run compares the source with the last run and brings its documents up to date. Its results are listed here.
    </EmptyState>
  );
}

function RunTable({ runs }: { runs: readonly Run[] | undefined }) {
  return (
    <DataTable
      caption="Runs"
      head={
        <>
          <th data-column="name" className="pl-4!">
            Run
          </th>
          <th className="w-[180px] max-md:hidden">State</th>
          {OUTCOMES.map((outcome) => (
            <th key={outcome} className="number w-[92px] @max-[980px]:hidden">
              {OUTCOME_WORDS[outcome]}
            </th>
          ))}
          <th className="number w-[92px] @max-[1100px]:hidden">Took</th>
        </>
      }
    >
      {runs === undefined ? (
        <SkeletonRows rows={6} columns={["50%", "60%", ...OUTCOMES.map(() => "40%"), "40%"]} />
      ) : (
        runs.map((run) => <RunRow key={run.source_run_id} run={run} />)
      )}
    </DataTable>
  );
}

function RunRow({ run }: { run: Run }) {
  const state = runState(run);
  const took = run.started_at && run.ended_at ? Date.parse(run.ended_at) - Date.parse(run.started_at) : null;
  return (
    <tr>
      <td className="pl-4!">
        <Link href={`/sources/run/?source=${run.source_id}&id=${run.source_run_id}`} className="block truncate font-medium hover:underline">
          {runKind(run)}, <Time at={run.created_at} />
        </Link>
        <span className="block truncate text-xs text-text-2" title={run.error?.detail ?? countWords(run)}>
          {run.error?.detail ?? countWords(run)}
        </span>
        <span className="md:hidden">
          <State tone={state.tone}>{state.label}</State>
        </span>
      </td>
      <td className="max-md:hidden" title={run.error?.detail}>
        <State tone={state.tone}>{state.label}</State>
      </td>
      {OUTCOMES.map((outcome) => (
        <td key={outcome} className={`number @max-[980px]:hidden ${run.counts[outcome] === 0 ? "text-text-3" : ""}`}>
          {formatCount(run.counts[outcome])}
        </td>
      ))}
      <td className="number text-text-2 @max-[1100px]:hidden">{formatMilliseconds(took)}</td>
    </tr>
  );
}
