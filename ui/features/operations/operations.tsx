"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { RotateCw } from "lucide-react";
import { parseAsInteger, parseAsString, parseAsStringLiteral, useQueryStates } from "nuqs";
import { useState } from "react";
import { toast } from "sonner";

import { documentCountsQuery, knowledgeBaseQuery } from "@/api/queries";
import { jobKeys } from "@/api/keys";
import { ConfirmDialog } from "@/components/ui/dialog";
import { BusyLine, EmptyState, ErrorState, tellFailure } from "@/components/feedback";
import { PageHead } from "@/components/page-head";
import { Pager } from "@/components/pager";
import { Button } from "@/components/ui/button";
import { Select } from "@/components/ui/select";
import { formatCount, plural } from "@/lib/format";
import { FailedDocuments } from "@/features/documents/failed-documents";
import { useHeldRows } from "@/state/use-held-rows";
import { type JobKind, KIND_WORDS } from "@/lib/job-words";
import { usePermissions } from "@/state/permissions";
import { useShortcuts } from "@/state/shortcuts";
import { useLastPage } from "@/state/use-last-page";

import { ErrorGroups } from "./error-groups";
import { JobDialog } from "./job-dialog";
import { JobTable } from "./job-table";
import {
  cancelJob,
  cancelMatching,
  type Job,
  jobCountsQuery,
  type JobFilter,
  jobPageQuery,
  type JobState,
  replayJob,
  replayMatching,
} from "./queries";
import { QueueDepth } from "./queue-depth";

const PAGE = 50;
const STATES = ["dead", "running", "available"] as const satisfies readonly JobState[];
const STATE_WORDS: Record<JobState, string> = { dead: "Failed", running: "Running", available: "Waiting" };
const idOf = (job: Job) => job.job_id;
const KINDS = Object.keys(KIND_WORDS) as JobKind[];

export function Operations({ tabs }: { tabs: React.ReactNode }) {
  const client = useQueryClient();
  const { may } = usePermissions();
  const [url, setUrl] = useQueryStates(
    {
      state: parseAsStringLiteral(STATES),
      kind: parseAsStringLiteral(KINDS),
      kb: parseAsString,
      error: parseAsString,
      page: parseAsInteger.withDefault(1),
      peek: parseAsString,
    },
    { history: "push" },
  );
  const filter: JobFilter = {
    states: url.state ? [url.state] : [],
    kinds: url.kind ? [url.kind] : [],
    kbId: url.kb,
    errorCode: url.error,
  };
  const page = Math.max(1, url.page);
  const { data, error, isPlaceholderData, refetch } = useQuery(jobPageQuery(filter, (page - 1) * PAGE, PAGE));
  useLastPage(page, isPlaceholderData ? undefined : data?.total_count, PAGE, (last) => setUrl({ page: last }, { history: "replace" }));
  const hasFilter = url.state !== null || url.kind !== null || url.kb !== null || url.error !== null;
  // What stands below the failed documents and the depth of the queue waits for both: it would jump when they come.
  const counts = useQuery(documentCountsQuery());
  const depth = useQuery(jobCountsQuery());
  const waitsForCounts = !hasFilter && (counts.isPending || depth.isPending);
  const base = useQuery({ ...knowledgeBaseQuery(url.kb ?? ""), enabled: url.kb !== null });
  const [cursor, setCursor] = useState(-1);
  const { held, release } = useHeldRows(JSON.stringify([filter, page]), isPlaceholderData ? undefined : data?.jobs, idOf);
  const renew = () => {
    release();
    return client.invalidateQueries({ queryKey: jobKeys.all });
  };
  const act = async (what: string, done: string, call: () => Promise<unknown>) => {
    try {
      await call();
      toast(done);
    } catch (failure) {
      tellFailure(what, failure);
    }
    await renew();
  };
  const replay = (job: Job) => act("The job was not replayed", "Job queued again", () => replayJob(job.job_id));
  const cancel = (job: Job) => act("The job was not cancelled", "Job cancelled. You can replay it.", () => cancelJob(job.job_id));
  const replayAll = useMutation({
    mutationFn: () => replayMatching(filter),
    onSuccess: ({ replayed }) => toast(`${plural(replayed, "job")} queued again`),
    onError: (failure) => tellFailure("No jobs were replayed", failure),
    onSettled: renew,
  });
  const cancelAll = useMutation({
    mutationFn: () => cancelMatching(filter),
    onSuccess: ({ cancelled, stopping }) =>
      toast(
        `${plural(cancelled, "job")} cancelled${stopping > 0 ? `, ${formatCount(stopping)} still stopping` : ""}. You can replay them.`,
      ),
    onError: (failure) => tellFailure("No jobs were cancelled", failure),
    onSettled: renew,
  });
  const [isCancelling, setCancelling] = useState(false);
  const jobs = held?.rows ?? data?.jobs ?? [];
  const present = new Set(data?.jobs.map(idOf));
  const isGone = (job: Job) => held !== null && !present.has(job.job_id);
  const at = jobs[cursor];
  useShortcuts([
    { keys: "j", label: "Next row", group: "List", run: () => setCursor((now) => Math.min(now + 1, jobs.length - 1)) },
    { keys: "k", label: "Previous row", group: "List", run: () => setCursor((now) => Math.max(now - 1, 0)) },
    { keys: "Enter", label: "Show the job", group: "List", run: () => at && void setUrl({ peek: at.job_id }) },
    { keys: "Space", label: "Show the job", group: "List", run: () => at && void setUrl({ peek: at.job_id }) },
    ...(may("replay_job")
      ? [{ keys: "r", label: "Replay a failed job", group: "List" as const, run: () => at?.state === "dead" && void replay(at) }]
      : []),
  ]);
  const isNarrowed = Boolean(url.kind ?? url.kb ?? url.error);
  const unfinishedShown = url.state === "available" || url.state === "running" ? (data?.total_count ?? 0) : 0;
  const deadShown = url.state === "dead" ? (data?.total_count ?? 0) : 0;
  return (
    <>
      <PageHead title="Operations">
        {unfinishedShown > 0 && may("cancel_jobs") && (
          <Button className="text-failed" disabled={cancelAll.isPending} onClick={() => setCancelling(true)}>
            Cancel {isNarrowed ? "all matching" : "all"} {count(unfinishedShown, data)}
          </Button>
        )}
        {deadShown > 0 && may("replay_jobs") && (
          <Button variant="primary" disabled={replayAll.isPending} onClick={() => replayAll.mutate()}>
            <RotateCw aria-hidden size={14} /> Replay {isNarrowed ? "all matching" : "all"} {count(deadShown, data)}
          </Button>
        )}
      </PageHead>
      {tabs}
      <div className="bar" role="search" aria-label="Filter jobs">
        <div role="group" aria-label="State" className="flex flex-wrap gap-2">
          {STATES.map((state) => (
            <StateButton
              key={state}
              state={state}
              isOn={url.state === state}
              onToggle={() => void setUrl({ state: url.state === state ? null : state, page: 1 })}
            />
          ))}
        </div>
        <label>
          <span className="sr-only">Kind</span>
          <Select
            className="max-w-[230px]"
            value={url.kind ?? ""}
            onChange={(event) => void setUrl({ kind: KINDS.find((kind) => kind === event.target.value) ?? null, page: 1 })}
          >
            <option value="">All kinds</option>
            {KINDS.map((kind) => (
              <option key={kind} value={kind}>
                {KIND_WORDS[kind]}
              </option>
            ))}
          </Select>
        </label>
        {url.kb && (
          <Button variant="quiet" onClick={() => void setUrl({ kb: null, page: 1 })}>
            Of {base.data?.name ?? "one knowledge base"} · Clear
          </Button>
        )}
        {url.error && (
          <Button variant="quiet" onClick={() => void setUrl({ error: null, page: 1 })}>
            Error {url.error} · Clear
          </Button>
        )}
      </div>
      <BusyLine isBusy={isPlaceholderData} />
      <div className="min-h-0 flex-1 overflow-auto">
        {!hasFilter && !waitsForCounts && <FailedDocuments />}
        {!hasFilter && !waitsForCounts && <QueueDepth onOpen={(kind, state) => void setUrl({ kind, state, page: 1 })} />}
        {url.state === "dead" && <ErrorGroups filter={filter} onOnly={(error) => void setUrl({ error, page: 1 })} />}
        {held !== null && (held.newCount > 0 || (jobs.length > 0 && jobs.every(isGone))) && (
          <div className="flex justify-center border-b border-line bg-working-bg">
            <Button variant="quiet" className="text-working" onClick={() => void renew()}>
              {held.newCount > 0 ? `${formatCount(held.newCount)} new` : "All of these jobs are done"}
            </Button>
          </div>
        )}
        {error && !data ? (
          <ErrorState error={error} retry={() => void refetch()} />
        ) : waitsForCounts ? null : data?.total_count === 0 && jobs.length === 0 ? (
          hasFilter ? (
            <EmptyState
              title={url.state === "dead" ? "No failed jobs" : "No job matches"}
              action={
                <Button onClick={() => void setUrl({ state: null, kind: null, kb: null, error: null, page: 1 })}>Show all jobs</Button>
              }
            />
          ) : (
            <EmptyState title="No waiting or failed jobs">
              Jobs appear here while files are extracted and indexed. Finished jobs are in the history of each document.
            </EmptyState>
          )
        ) : (
          <JobTable
            jobs={data && jobs}
            isGone={isGone}
            cursor={cursor}
            onPeek={(job) => void setUrl({ peek: job.job_id })}
            onReplay={replay}
            onCancel={cancel}
          />
        )}
      </div>
      {data && data.total_count > PAGE && (
        <Pager
          skip={data.skip}
          shown={data.jobs.length}
          total={data.total_count}
          isAtLeast={data.total_count_is_at_least}
          page={page}
          pageCount={Math.ceil(data.total_count / PAGE)}
          onPage={(next) => void setUrl({ page: next })}
        />
      )}
      <ConfirmDialog
        open={isCancelling}
        onOpenChange={setCancelling}
        title={`Cancel ${count(unfinishedShown, data)} ${unfinishedShown === 1 ? "job" : "jobs"}?`}
        action={unfinishedShown === 1 ? "Cancel the job" : "Cancel the jobs"}
        onConfirm={() => cancelAll.mutate()}
      >
        You can replay cancelled jobs. Until then, files that were not extracted yet show as failed. Deletions run to their end.
      </ConfirmDialog>
      {url.peek && <JobDialog jobId={url.peek} onClose={() => void setUrl({ peek: null })} onReplay={replay} onCancel={cancel} />}
    </>
  );
}

function count(shown: number, page: { total_count_is_at_least: boolean } | undefined): string {
  return `${formatCount(shown)}${page?.total_count_is_at_least ? "+" : ""}`;
}

function StateButton({ state, isOn, onToggle }: { state: JobState; isOn: boolean; onToggle: () => void }) {
  const { data } = useQuery(jobCountsQuery());
  return (
    <Button className={isOn ? "bg-selected" : ""} aria-pressed={isOn} onClick={onToggle}>
      {STATE_WORDS[state]}
      <span className="min-w-4 text-right text-text-2 tabular-nums">
        {data ? formatCount(state === "available" ? data.waiting : data[state]) : ""}
      </span>
    </Button>
  );
}
