"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Play } from "lucide-react";
import Link from "next/link";
import { parseAsArrayOf, parseAsInteger, parseAsStringLiteral, useQueryStates } from "nuqs";

import { answered, api, organizationPath } from "@/api/client";
import { documentQuery } from "@/api/queries";
import { BusyLine, EmptyState, ErrorState, SkeletonRows, tellFailure } from "@/components/feedback";
import { Pager } from "@/components/pager";
import { Banner, State } from "@/components/state";
import { Time } from "@/components/time";
import { Button } from "@/components/ui/button";
import { DataTable } from "@/components/ui/data-table";
import { Select } from "@/components/ui/select";
import { formatCount, formatMilliseconds } from "@/lib/format";
import { useMay } from "@/state/permissions";
import { useLastPage } from "@/state/use-last-page";

import { isUnfinished, type Prompt, type Run, runKeys, runsQuery, type RunStatus, waitingRunsQuery } from "./queries";
import { costWords, runState, STATUS_WORDS, STATUSES } from "./run-words";

const PAGE = 50;

/** What the prompt did: each run with its state, its price and the way to its steps. */
export function RunsTab({ prompt, onRun }: { prompt: Prompt; onRun: () => void }) {
  const [url, setUrl] = useQueryStates({
    page: parseAsInteger.withDefault(1),
    status: parseAsArrayOf(parseAsStringLiteral(STATUSES)).withDefault([]),
  });
  const page = Math.max(1, url.page);
  const mayChange = useMay("cancel_prompt_run");
  const { data, error, isPlaceholderData, refetch } = useQuery(
    runsQuery({ promptId: prompt.prompt_id, statuses: url.status }, (page - 1) * PAGE, PAGE),
  );
  useLastPage(page, isPlaceholderData ? undefined : data?.total_count, PAGE, (last) => setUrl({ page: last }, { history: "replace" }));
  if (error && !data) return <ErrorState error={error} retry={() => void refetch()} />;
  const isEmpty = data?.total_count === 0 && !isPlaceholderData;
  return (
    <>
      <div className="bar">
        <label className="flex items-center gap-2">
          <span className="text-text-2">State</span>
          <Select
            className="w-[150px]"
            value={url.status[0] ?? ""}
            onChange={(event) => void setUrl({ status: event.target.value ? [event.target.value as RunStatus] : null, page: 1 })}
          >
            <option value="">All</option>
            {STATUSES.map((status) => (
              <option key={status} value={status}>
                {STATUS_WORDS[status]}
              </option>
            ))}
          </Select>
        </label>
        <span className="text-text-3" role="status">
          {data ? `${formatCount(data.total_count)} ${data.total_count === 1 ? "run" : "runs"}` : ""}
        </span>
      </div>
      <BusyLine isBusy={isPlaceholderData} />
      <div className="min-h-0 flex-1 overflow-auto">
        <Waiting runs={data?.runs ?? []} />
        {isEmpty && url.status.length === 0 ? (
          <EmptyState
            title="No runs yet"
            action={
              mayChange && (
                <Button variant="primary" onClick={onRun}>
                  <Play aria-hidden size={14} /> Run it
                </Button>
              )
            }
          >
            Run the prompt on documents, or on a text to test it. With tags it also runs automatically on new documents.
          </EmptyState>
        ) : isEmpty ? (
          <EmptyState title="No runs in this state" action={<Button onClick={() => void setUrl({ status: null })}>Show all</Button>} />
        ) : (
          <RunTable runs={data?.runs} mayChange={mayChange} />
        )}
      </div>
      {data && data.total_count > PAGE && (
        <Pager
          skip={data.skip}
          shown={data.runs.length}
          total={data.total_count}
          page={page}
          pageCount={Math.ceil(data.total_count / PAGE)}
          onPage={(next) => void setUrl({ page: next }, { history: "push" })}
        />
      )}
    </>
  );
}

function RunTable({ runs, mayChange }: { runs: readonly Run[] | undefined; mayChange: boolean }) {
  return (
    <DataTable
      caption="Runs"
      head={
        <>
          <th data-column="name" className="pl-4!">
            On
          </th>
          <th className="w-[180px] max-md:hidden">State</th>
          <th className="number w-[72px] @max-[940px]:hidden">Version</th>
          <th className="number w-[80px] @max-[1020px]:hidden">Tokens</th>
          <th className="number w-[130px] @max-[780px]:hidden">Cost</th>
          <th className="number w-[64px] max-md:hidden">SPUs</th>
          <th className="number w-[88px] @max-[868px]:hidden">Took</th>
          <th className="w-[110px] max-md:hidden">Requested</th>
          <th className="w-[96px]">
            <span className="sr-only">Actions</span>
          </th>
        </>
      }
    >
      {runs === undefined ? (
        <SkeletonRows rows={8} columns={["50%", "60%", "40%", "40%", "40%", "40%", "40%", "60%", "50%"]} />
      ) : (
        runs.map((run) => <RunRow key={run.run_id} run={run} mayChange={mayChange} />)
      )}
    </DataTable>
  );
}

function RunRow({ run, mayChange }: { run: Run; mayChange: boolean }) {
  const state = runState(run);
  const took = run.started_at && run.ended_at ? Date.parse(run.ended_at) - Date.parse(run.started_at) : null;
  return (
    <tr>
      <td className="pl-4!">
        <Link href={`/prompts/run/?id=${run.run_id}`} className="block truncate hover:underline">
          <RunSubject run={run} />
        </Link>
        <span className="md:hidden">
          <State tone={state.tone}>{state.label}</State>
        </span>
      </td>
      <td className="max-md:hidden" title={run.error?.detail}>
        <State tone={state.tone}>{state.label}</State>
      </td>
      <td className="number @max-[940px]:hidden">{run.version}</td>
      <td className="number @max-[1020px]:hidden">{formatCount(run.usage.prompt_tokens + run.usage.completion_tokens)}</td>
      <td className="number text-text-2 @max-[780px]:hidden" title={costWords(run.usage)}>
        {costWords(run.usage)}
      </td>
      <td className="number max-md:hidden">{formatCount(run.usage.spus)}</td>
      <td className="number text-text-2 @max-[868px]:hidden">{formatMilliseconds(took)}</td>
      <td className="text-text-2 max-md:hidden">
        <Time at={run.created_at} />
      </td>
      <td className="text-right">{mayChange && isUnfinished(run) && <CancelRun runId={run.run_id} isQuiet />}</td>
    </tr>
  );
}

export function RunSubject({ run }: { run: Pick<Run, "document_id"> }) {
  const { data, error } = useQuery({
    ...documentQuery(run.document_id ?? ""),
    enabled: run.document_id !== null,
    staleTime: 60_000,
    retry: false,
  });
  if (run.document_id === null) return "A text";
  return data?.document_name ?? (error ? "A deleted document" : "…");
}

export function CancelRun({ runId, isQuiet = false }: { runId: string; isQuiet?: boolean }) {
  const client = useQueryClient();
  const cancel = useMutation({
    mutationFn: () =>
      answered(api.POST("/v0/orgs/{organization_id}/runs/{run_id}/cancel", { params: { path: { ...organizationPath(), run_id: runId } } })),
    onError: (failure) => tellFailure("The run was not cancelled", failure),
    onSettled: () => client.invalidateQueries({ queryKey: runKeys.all }),
  });
  return (
    <Button
      type="button"
      variant={isQuiet ? "quiet" : "plain"}
      size={isQuiet ? "small" : "normal"}
      disabled={cancel.isPending}
      onClick={() => cancel.mutate()}
    >
      {cancel.isPending ? "Cancelling…" : isQuiet ? "Cancel" : "Cancel the run"}
    </Button>
  );
}

/** Why runs wait: their jobs know; a run itself tells only how it ended. */
function Waiting({ runs }: { runs: readonly Run[] }) {
  const unfinished = runs.filter(isUnfinished);
  const { data } = useQuery({ ...waitingRunsQuery(), enabled: unfinished.length > 0 });
  const held = data?.jobs.filter((job) => job.error !== null && unfinished.some((run) => run.document_id === job.document_id)) ?? [];
  const [first] = held;
  if (!first?.error || unfinished.length === 0) return null;
  return (
    <div className="p-4 pb-2">
      <Banner tone="warning">
        {held.length === 1 ? "A run waits: " : `${formatCount(held.length)} runs wait: `}
        {first.error.detail} Next try <Time at={first.run_at} isPlanned />; nothing is lost.
      </Banner>
    </div>
  );
}
