"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { RotateCw } from "lucide-react";
import { parseAsInteger, parseAsString, parseAsStringLiteral, useQueryStates } from "nuqs";
import { useState } from "react";
import { toast } from "sonner";

import { knowledgeBaseQuery } from "@/api/queries";
import { BusyLine, EmptyState, ErrorState, tellFailure } from "@/components/feedback";
import { PageHead } from "@/components/page-head";
import { Pager } from "@/components/pager";
import { formatCount, plural } from "@/lib/format";
import { useHeldRows } from "@/lib/held-rows";
import { type JobKind, KIND_WORDS } from "@/lib/job-words";
import { useShortcuts } from "@/lib/shortcuts";

import { JobDialog } from "./job-dialog";
import { JobTable } from "./job-table";
import { cancelJob, groupByError, type Job, jobCountQuery, type JobFilter, jobPageQuery, type JobState, replayJob, replayMatching } from "./queries";

const PAGE = 50;
const STATES = ["dead", "running", "available"] as const satisfies readonly JobState[];
const STATE_WORDS: Record<JobState, string> = { dead: "Given up", running: "Running", available: "Waiting" };
const idOf = (job: Job) => job.job_id;
const KINDS = Object.keys(KIND_WORDS) as JobKind[];

export function Operations({ tabs }: { tabs: React.ReactNode }) {
  const client = useQueryClient();
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
  const base = useQuery({ ...knowledgeBaseQuery(url.kb ?? ""), enabled: url.kb !== null });
  const [cursor, setCursor] = useState(-1);
  const { held, release } = useHeldRows(
    JSON.stringify([filter, page]),
    isPlaceholderData ? undefined : data?.jobs,
    idOf,
  );
  const renew = () => {
    release();
    return client.invalidateQueries({ queryKey: ["jobs"] });
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
  const replay = (job: Job) => act("It is not replayed", "It waits to run again", () => replayJob(job.job_id));
  const cancel = (job: Job) => act("It is not cancelled", "Cancelled; it can be replayed", () => cancelJob(job.job_id));
  const replayAll = useMutation({
    mutationFn: () => replayMatching(filter),
    onSuccess: ({ replayed }) => toast(`${plural(replayed, "job")} wait${replayed === 1 ? "s" : ""} to run again`),
    onError: (failure) => tellFailure("Nothing is replayed", failure),
    onSettled: renew,
  });
  const jobs = held?.rows ?? data?.jobs ?? [];
  const present = new Set(data?.jobs.map(idOf));
  const isGone = (job: Job) => held !== null && !present.has(job.job_id);
  const at = jobs[cursor];
  useShortcuts([
    { keys: "j", label: "Next row", group: "List", run: () => setCursor((now) => Math.min(now + 1, jobs.length - 1)) },
    { keys: "k", label: "Previous row", group: "List", run: () => setCursor((now) => Math.max(now - 1, 0)) },
    { keys: "Enter", label: "Show the job", group: "List", run: () => at && void setUrl({ peek: at.job_id }) },
    { keys: "Space", label: "Show the job", group: "List", run: () => at && void setUrl({ peek: at.job_id }) },
    { keys: "r", label: "Replay a job that was given up", group: "List", run: () => at?.state === "dead" && void replay(at) },
  ]);
  const groups = url.state === "dead" ? groupByError(jobs).filter((group) => group.count > 1) : [];
  const hasFilter = url.state !== null || url.kind !== null || url.kb !== null || url.error !== null;
  const deadShown = url.state === "dead" ? (data?.total_count ?? 0) : 0;
  return (
    <>
      <PageHead title="Operations">
        {deadShown > 0 && (
          <button type="button" className="button button-primary" disabled={replayAll.isPending} onClick={() => replayAll.mutate()}>
            <RotateCw aria-hidden size={14} /> Replay {hasFilter && (url.kind || url.kb || url.error) ? "all matching" : "all"}{" "}
            {formatCount(deadShown)}
          </button>
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
          <select
            className="field max-w-[230px]"
            value={url.kind ?? ""}
            onChange={(event) => void setUrl({ kind: KINDS.find((kind) => kind === event.target.value) ?? null, page: 1 })}
          >
            <option value="">Every kind</option>
            {KINDS.map((kind) => (
              <option key={kind} value={kind}>
                {KIND_WORDS[kind]}
              </option>
            ))}
          </select>
        </label>
        {url.kb && (
          <button type="button" className="button button-quiet" onClick={() => void setUrl({ kb: null, page: 1 })}>
            Of {base.data?.name ?? "one knowledge base"} · Clear
          </button>
        )}
        {url.error && (
          <button type="button" className="button button-quiet" onClick={() => void setUrl({ error: null, page: 1 })}>
            Error {url.error} · Clear
          </button>
        )}
      </div>
      <BusyLine isBusy={isPlaceholderData} />
      <div className="min-h-0 flex-1 overflow-auto">
        {groups.length > 0 && (
          <ul aria-label="Errors" className="border-b border-line">
            {groups.map((group) => (
              <li key={group.code} className="flex items-center gap-3 px-4 py-1.5">
                <span className="w-12 shrink-0 font-semibold tabular-nums">×{formatCount(group.count)}</span>
                <span className="min-w-0 flex-1 truncate text-failed" title={group.detail}>
                  {group.detail}
                </span>
                <button type="button" className="button button-small" onClick={() => void setUrl({ error: group.code, page: 1 })}>
                  Only these
                </button>
              </li>
            ))}
          </ul>
        )}
        {held !== null && (held.newCount > 0 || (jobs.length > 0 && jobs.every(isGone))) && (
          <div className="flex justify-center border-b border-line bg-working-bg">
            <button type="button" className="button button-quiet text-working" onClick={() => void renew()}>
              {held.newCount > 0 ? `${formatCount(held.newCount)} new` : "All of these are done"}
            </button>
          </div>
        )}
        {error && !data ? (
          <ErrorState error={error} retry={() => void refetch()} />
        ) : data?.total_count === 0 && jobs.length === 0 ? (
          hasFilter ? (
            <EmptyState
              title={url.state === "dead" ? "Nothing was given up" : "No job matches"}
              action={
                <button type="button" className="button" onClick={() => void setUrl({ state: null, kind: null, kb: null, error: null, page: 1 })}>
                  Show all jobs
                </button>
              }
            />
          ) : (
            <EmptyState title="Nothing waits and nothing was given up">
              Jobs appear here while files are read and indexed. What was done is in the history of each document.
            </EmptyState>
          )
        ) : (
          <JobTable jobs={data && jobs} isGone={isGone} cursor={cursor} onPeek={(job) => void setUrl({ peek: job.job_id })} onReplay={replay} onCancel={cancel} />
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
      {url.peek && <JobDialog jobId={url.peek} onClose={() => void setUrl({ peek: null })} onReplay={replay} onCancel={cancel} />}
    </>
  );
}

function StateButton({ state, isOn, onToggle }: { state: JobState; isOn: boolean; onToggle: () => void }) {
  const { data } = useQuery(jobCountQuery(state));
  return (
    <button type="button" className={`button ${isOn ? "bg-selected" : ""}`} aria-pressed={isOn} onClick={onToggle}>
      {STATE_WORDS[state]}
      <span className="min-w-4 text-right text-text-2 tabular-nums">
        {data ? `${formatCount(data.total_count)}${data.total_count_is_at_least ? "+" : ""}` : ""}
      </span>
    </button>
  );
}
