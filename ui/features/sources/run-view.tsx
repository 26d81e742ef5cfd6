"use client";

import { useQuery } from "@tanstack/react-query";
import { RotateCw } from "lucide-react";
import { parseAsInteger, parseAsString, parseAsStringLiteral, useQueryStates } from "nuqs";

import { EmptyState, ErrorState, SkeletonBlock } from "@/components/feedback";
import { May } from "@/components/may";
import { PageHead } from "@/components/page-head";
import { State } from "@/components/state";
import { Time } from "@/components/time";
import { Button } from "@/components/ui/button";
import { formatMilliseconds } from "@/lib/format";

import { isLive, type RunDetail, runQuery, type Source, sourceQuery } from "./queries";
import { RunItems } from "./run-items";
import { RunLog } from "./run-log";
import { RunNotices } from "./run-notices";
import { RunProgress } from "./run-progress";
import { useRestart } from "./use-runs";
import { OUTCOMES, runKind, runState } from "./words";

/** A run: its progress, its items by outcome with the reasons, its log. */
export function SourceRunView() {
  const [url, setUrl] = useQueryStates({
    source: parseAsString.withDefault(""),
    id: parseAsString.withDefault(""),
    outcome: parseAsStringLiteral(OUTCOMES),
    page: parseAsInteger.withDefault(1),
  });
  const hasIds = url.source !== "" && url.id !== "";
  const source = useQuery({ ...sourceQuery(url.source), enabled: hasIds });
  const run = useQuery({ ...runQuery(url.source, url.id), enabled: hasIds });
  const parent = { href: `/sources/view/?id=${url.source}`, label: source.data?.name ?? "Source" };
  const error = run.error ?? source.error;
  if (!run.data || !source.data) {
    return (
      <>
        <PageHead title="Run" parent={hasIds ? parent : { href: "/sources/", label: "Sources" }} />
        {!hasIds ? (
          <EmptyState title="No run selected" />
        ) : error ? (
          <ErrorState error={error} retry={() => void Promise.all([run.refetch(), source.refetch()])} />
        ) : (
          <SkeletonBlock lines={8} />
        )}
      </>
    );
  }
  return (
    <>
      <Head run={run.data} source={source.data} parent={parent} />
      {isLive(run.data) && <RunProgress run={run.data} />}
      <div className="min-h-0 flex-1 overflow-auto">
        <RunNotices run={run.data} source={source.data} />
        <RunItems
          key={run.data.source_run_id}
          run={run.data}
          source={source.data}
          outcome={url.outcome}
          page={Math.max(1, url.page)}
          onOutcome={(outcome) => void setUrl({ outcome, page: 1 })}
          onPage={(page) => void setUrl({ page }, { history: "push" })}
        >
          <RunLog run={run.data} />
        </RunItems>
      </div>
    </>
  );
}

function Head({ run, source, parent }: { run: RunDetail; source: Source; parent: { href: string; label: string } }) {
  const state = runState(run);
  const restart = useRestart(source);
  const took = run.started_at && run.ended_at ? Date.parse(run.ended_at) - Date.parse(run.started_at) : null;
  return (
    <PageHead
      title={run.external_ids.length > 0 ? "Run of chosen items" : runKind(run)}
      parent={parent}
      aside={
        <span className="flex items-center gap-3 max-md:basis-full">
          <State tone={state.tone}>{state.label}</State>
          <span className="text-text-3">
            <Time at={run.created_at} />
            {took !== null && `, took ${formatMilliseconds(took)}`}
          </span>
        </span>
      }
    >
      {!isLive(run) && (
        <May to="run_source">
          <Button disabled={restart.isBusy} onClick={() => restart.start({ dry_run: run.is_dry_run, external_ids: run.external_ids })}>
            <RotateCw aria-hidden size={14} /> Run again
          </Button>
        </May>
      )}
    </PageHead>
  );
}
