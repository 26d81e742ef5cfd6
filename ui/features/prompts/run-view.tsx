"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { RotateCw } from "lucide-react";
import Link from "next/link";
import { useRouter } from "next/navigation";
import { parseAsString, useQueryState } from "nuqs";

import { answered, api, idempotencyKey, organizationPath } from "@/api/client";
import { documentQuery } from "@/api/queries";
import { EmptyState, ErrorState, SkeletonBlock, tellFailure } from "@/components/feedback";
import { PageHead } from "@/components/page-head";
import { Banner, State } from "@/components/state";
import { Time } from "@/components/time";
import { Button } from "@/components/ui/button";
import { formatCount, formatMilliseconds, plural } from "@/lib/format";
import { useMay } from "@/state/permissions";

import { AnswerView } from "./answer-view";
import { isUnfinished, promptQuery, type RunDetail, runKeys, type RunPassage, runQuery } from "./queries";
import { RunSteps } from "./run-steps";
import { costWords, runState, whatToDo } from "./run-words";
import { CancelRun, RunSubject } from "./runs-tab";

/** One run: how it stands, its answer, and every step on the way there. */
export function RunView() {
  const [id] = useQueryState("id", parseAsString.withDefault(""));
  const { data: run, error, refetch } = useQuery(runQuery(id));
  const prompt = useQuery(promptQuery(run?.prompt_id ?? ""));
  const parent = run
    ? { href: `/prompts/view/?id=${run.prompt_id}&tab=runs`, label: prompt.data?.name ?? "Prompt" }
    : { href: "/prompts/", label: "Prompts" };
  if (!run) {
    return (
      <>
        <PageHead title="Run" parent={parent} />
        {error ? (
          <ErrorState error={error} retry={() => void refetch()} />
        ) : id === "" ? (
          <EmptyState title="No run selected" />
        ) : (
          <SkeletonBlock lines={8} />
        )}
      </>
    );
  }
  return <Shown run={run} parent={parent} />;
}

function passagesOf(run: RunDetail): ReadonlyMap<number, RunPassage> {
  return new Map(run.steps.flatMap((step) => step.passages.map((passage) => [passage.number, passage] as const)));
}

function Shown({ run, parent }: { run: RunDetail; parent: { href: string; label: string } }) {
  const document = useQuery({ ...documentQuery(run.document_id ?? ""), enabled: run.document_id !== null, retry: false });
  const mayChange = useMay("run_prompt");
  const state = runState(run);
  const passages = passagesOf(run);
  const next = run.error && whatToDo(run.error.code, run.prompt_id);
  const title = run.document_id === null ? "Run on a text" : `Run on ${document.data?.document_name ?? "a document"}`;
  return (
    <>
      <PageHead title={title} parent={parent} aside={<State tone={state.tone}>{state.label}</State>}>
        {mayChange && (isUnfinished(run) ? <CancelRun runId={run.run_id} /> : <RunAgain run={run} />)}
      </PageHead>
      <div role="region" aria-label="Run" tabIndex={0} className="min-h-0 flex-1 overflow-auto">
        <div className="flex max-w-[860px] flex-col gap-6 p-4">
          {run.error && run.status === "failed" && (
            <Banner tone="failed">
              {sentence(run.error.detail)}{" "}
              {next && (
                <Link href={next.href} className="underline">
                  {next.label}
                </Link>
              )}
            </Banner>
          )}
          {run.error && run.status === "cancelled" && <p className="text-text-2">{sentence(run.error.detail)}</p>}
          {run.warnings.map((warning) => (
            <Banner key={warning} tone="warning">
              {sentence(warning)}
            </Banner>
          ))}
          {run.has_erased_passages && (
            <Banner tone="warning">Some passages are missing from the steps because their documents were deleted.</Banner>
          )}
          <Facts run={run} />
          {run.answer !== null && run.answer !== undefined && (
            <section className="flex flex-col gap-2" aria-labelledby="answer">
              <h2 id="answer" className="text-lg font-semibold">
                Answer
              </h2>
              <AnswerView answer={run.answer} passages={passages} />
              {run.document_id !== null && (
                <Link
                  className="self-start text-link hover:underline"
                  href={`/prompts/view/?id=${run.prompt_id}&tab=results&v=${run.version}&document=${run.document_id}`}
                >
                  Open the result to edit or verify it
                </Link>
              )}
            </section>
          )}
          {run.input_text !== null && (
            <details>
              <summary className="font-semibold">Input text</summary>
              <p className="mt-2 rounded-lg border border-line bg-surface p-3 break-words whitespace-pre-wrap">{run.input_text}</p>
            </details>
          )}
          <RunSteps run={run} passages={passages} />
        </div>
      </div>
    </>
  );
}

/** The API's details begin small, being parts of messages. */
function sentence(detail: string): string {
  const text = detail.charAt(0).toUpperCase() + detail.slice(1);
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

function Facts({ run }: { run: RunDetail }) {
  const took = run.started_at && run.ended_at ? Date.parse(run.ended_at) - Date.parse(run.started_at) : null;
  const { usage } = run;
  const facts: [string, React.ReactNode][] = [
    [
      "On",
      run.document_id === null ? (
        "a text"
      ) : (
        <Link className="text-link hover:underline" href={`/documents/view/?id=${run.document_id}`}>
          <RunSubject run={run} />
        </Link>
      ),
    ],
    [
      "Version",
      <Link key="v" className="text-link hover:underline" href={`/prompts/view/?id=${run.prompt_id}&tab=versions&v=${run.version}`}>
        {run.version}
      </Link>,
    ],
    ["Model", run.model ?? "not chosen yet"],
    [
      "Tokens",
      `${formatCount(usage.prompt_tokens)} input, ${formatCount(usage.completion_tokens)} output, in ${plural(usage.model_calls, "call")}`,
    ],
    ["Cost", costWords(usage)],
    ["SPUs", `${formatCount(usage.spus)} for ${plural(usage.searches, "search", "searches")}`],
    [
      "Requested",
      <span key="t">
        <Time at={run.created_at} />
        {run.is_automatic ? ", automatically: the document has one of the prompt's tags" : ""}
      </span>,
    ],
    ["Took", formatMilliseconds(took)],
  ];
  return (
    <dl className="grid grid-cols-[96px_minmax(0,1fr)] gap-x-4 gap-y-1.5">
      {facts.map(([label, value]) => (
        <div key={label} className="contents">
          <dt className="text-text-2">{label}</dt>
          <dd className="break-words">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function RunAgain({ run }: { run: RunDetail }) {
  const router = useRouter();
  const client = useQueryClient();
  const again = useMutation({
    mutationFn: () =>
      answered(
        api.POST("/v0/orgs/{organization_id}/prompts/{prompt_id}/runs", {
          params: { path: { ...organizationPath(), prompt_id: run.prompt_id } },
          body: {
            version: run.version,
            document_ids: run.document_id === null ? [] : [run.document_id],
            ...(run.input_text !== null && { text: run.input_text }),
          },
          headers: idempotencyKey(),
        }),
      ),
    onSuccess: async ({ runs }) => {
      await client.invalidateQueries({ queryKey: runKeys.all });
      if (runs[0]) router.push(`/prompts/run/?id=${runs[0].run_id}`);
    },
    onError: (failure) => tellFailure("The prompt was not run again", failure),
  });
  return (
    <Button disabled={again.isPending} onClick={() => again.mutate()} title={`Runs version ${run.version} again`}>
      <RotateCw aria-hidden size={14} /> Run again
    </Button>
  );
}
