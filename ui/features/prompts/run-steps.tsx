import Link from "next/link";

import { formatCount, formatMilliseconds, formatScore, plural } from "@/lib/format";

import { isObject } from "./answer-schema";
import { Cited, pagesOf, placeOf } from "./answer-view";
import type { RunDetail, RunPassage, RunStep } from "./queries";

/** Every step of a run: what the model said and asked for, and what each search brought it. */
export function RunSteps({ run, passages }: { run: RunDetail; passages: ReadonlyMap<number, RunPassage> }) {
  return (
    <section className="flex flex-col gap-3" aria-labelledby="steps">
      <h2 id="steps" className="text-lg font-semibold">
        Steps
      </h2>
      {run.steps.length === 0 ? (
        <p className="text-text-2">
          {run.status === "queued"
            ? "Waiting for a worker."
            : run.status === "running"
              ? "Waiting for the model."
              : "The run ended before the model was called."}
        </p>
      ) : (
        <ol className="flex flex-col gap-3">
          {run.steps.map((step, place) => (
            <li key={place} className="flex flex-col gap-2 rounded-lg border border-line bg-surface p-3">
              <Step step={step} passages={passages} written={argumentsOf(run.steps, place)} />
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

/** What the model wrote for the tool of a step; ids of calls are unique within the step that asked for them only. */
function argumentsOf(steps: readonly RunStep[], place: number): string | undefined {
  const asking = steps.slice(0, place).findLast((step) => step.kind === "model");
  return asking?.tool_calls.find((call) => call.id === steps[place]?.call_id)?.arguments;
}

function Head({ title, children }: { title: string; children?: React.ReactNode }) {
  return (
    <div className="flex flex-wrap items-baseline gap-x-3">
      <h3 className="font-semibold">{title}</h3>
      <span className="text-text-3 tabular-nums">{children}</span>
    </div>
  );
}

function Step({ step, passages, written }: { step: RunStep; passages: ReadonlyMap<number, RunPassage>; written: string | undefined }) {
  if (step.kind === "correction") {
    return (
      <>
        <Head title="Feedback to the model on its answer" />
        <p className="break-words whitespace-pre-wrap text-text-2">{step.text}</p>
      </>
    );
  }
  return step.kind === "model" ? <ModelStep step={step} passages={passages} /> : <ToolStep step={step} written={written} />;
}

function ModelStep({ step, passages }: { step: RunStep; passages: ReadonlyMap<number, RunPassage> }) {
  const title = step.tool_calls.length > 0 ? `The model asked for ${plural(step.tool_calls.length, "tool call")}` : "The model answered";
  return (
    <>
      <Head title={title}>
        {formatCount(step.prompt_tokens)} input tokens, {formatCount(step.completion_tokens)} output tokens
        {step.cost_usd !== null && ` · US$${step.cost_usd.toFixed(4)}`} · {formatMilliseconds(step.milliseconds)}
      </Head>
      {step.is_forced && <p className="text-text-2">Final round: the model had to answer without searching.</p>}
      {step.text && (
        <p className="break-words whitespace-pre-wrap">
          <Cited text={step.text} passages={passages} />
        </p>
      )}
      {step.finish_reason === "length" && <p className="text-warn">The answer was cut off at the token limit.</p>}
    </>
  );
}

function ToolStep({ step, written }: { step: RunStep; written: string | undefined }) {
  const title =
    step.error !== null
      ? `${step.tool_name ?? "A tool"} failed`
      : `${step.tool_name ?? "A tool"} found ${plural(step.passages.length, "passage")}`;
  return (
    <>
      <Head title={title}>
        {plural(step.spus, "SPU")} · {formatMilliseconds(step.milliseconds)}
      </Head>
      {written !== undefined && <Arguments written={written} />}
      {step.error !== null ? (
        <p className="break-words whitespace-pre-wrap text-warn">
          {step.text || step.error} <span className="font-mono text-xs">({step.error})</span>
        </p>
      ) : (
        step.text && step.passages.length === 0 && <p className="break-words whitespace-pre-wrap text-text-2">{step.text}</p>
      )}
      {step.passages.length > 0 && (
        <ol className="flex flex-col gap-2" aria-label="Passages that the model saw">
          {step.passages.map((passage) => (
            <Passage key={passage.number} passage={passage} />
          ))}
        </ol>
      )}
    </>
  );
}

/** As the model wrote them: an object's values by name, else the text. */
function Arguments({ written }: { written: string }) {
  let parsed: unknown = null;
  try {
    parsed = JSON.parse(written);
  } catch {
    // A careless model's: shown as it is.
  }
  if (!isObject(parsed)) return <code className="font-mono text-xs break-words">{written}</code>;
  return (
    <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-0.5">
      {Object.entries(parsed).map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="font-mono text-xs/5 text-text-2">{name}</dt>
          <dd className="break-words">{typeof value === "string" ? value : JSON.stringify(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function Passage({ passage }: { passage: RunPassage }) {
  return (
    <li className="border-l-2 border-line pl-3">
      [{passage.number}]{" "}
      <Link className="text-link underline" href={placeOf(passage)}>
        {passage.source}, {pagesOf(passage)}
      </Link>{" "}
      <span className="text-text-3 tabular-nums">relevance {formatScore(passage.relevance)}</span>
      <details>
        <summary className="text-text-2">Show the passage</summary>
        <p className="mt-1 break-words whitespace-pre-wrap text-text-2">{passage.content}</p>
      </details>
    </li>
  );
}
