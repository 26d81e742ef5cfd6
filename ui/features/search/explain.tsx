"use client";

import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { CircleCheck, OctagonX } from "lucide-react";
import { useDeferredValue, useState } from "react";

import type { Schemas } from "@/api/client";
import { documentNamesQuery, knowledgeBaseQuery } from "@/api/queries";
import { Dialog } from "@/components/ui/dialog";
import { Banner } from "@/components/state";
import { Button } from "@/components/ui/button";
import { Field, Input } from "@/components/ui/field";

import { describe } from "./configuration";
import { HitCard } from "./hit-card";
import { explainEach, type Explanation as Explained, type Hit, type Question } from "./queries";

const STAGE_WORDS: Record<Schemas["Stage"], string> = {
  tagged: "Shares a tag",
  extracted: "Text extracted",
  indexed: "Indexed",
  filter: "Passes the filter",
  matched: "Found by the question",
  threshold: "Relevant enough",
  not_repeated: "Not a duplicate",
  ranked: "Among the results",
};

/** Explain why another document is missing: the stages it passes in each knowledge base, up to the first that it fails. */
export function Explain({
  name,
  question,
  open,
  onOpenChange,
  onOpen,
}: {
  /** Of the configuration, where two are compared. */
  name: string | null;
  question: Question;
  open: boolean;
  onOpenChange: (open: boolean) => void;
  /** Show a passage's page beside the results. */
  onOpen: (hit: Hit) => void;
}) {
  const asked = `“${question.query}”, ${name === null ? "" : `configuration ${name}: `}${describe(question.configuration).join(", ")}`;
  const show = (hit: Hit) => {
    onOpenChange(false);
    onOpen(hit);
  };
  return (
    <>
      <p className="px-4 py-3">
        Expected another document?{" "}
        <button type="button" className="text-link hover:underline" onClick={() => onOpenChange(true)}>
          Ask why it is missing
        </button>
      </p>
      <Dialog open={open} onOpenChange={onOpenChange} title="Why is it missing?" description={asked} wide>
        <Asking question={question} onOpen={show} />
      </Dialog>
    </>
  );
}

function Asking({ question, onOpen }: { question: Question; onOpen: (hit: Hit) => void }) {
  const [text, setText] = useState("");
  const wanted = useDeferredValue(text.trim());
  const documents = useQuery({ ...documentNamesQuery(wanted), placeholderData: keepPreviousData });
  const asked = useMutation({ mutationFn: (documentId: string) => explainEach(question, documentId) });
  return (
    <div className="flex flex-col gap-3">
      <Field label="Which document?">
        <Input autoFocus placeholder="Part of its name" value={text} onChange={(event) => setText(event.target.value)} />
      </Field>
      {!asked.data && (
        <ul className="flex flex-col">
          {documents.data?.documents.map((document) => (
            <li key={document.document_id}>
              <button
                type="button"
                className="menu-item w-full hover:bg-hover"
                disabled={asked.isPending}
                onClick={() => asked.mutate(document.document_id)}
              >
                <span className="truncate">{document.document_name}</span>
              </button>
            </li>
          ))}
          {documents.data?.documents.length === 0 && <li className="text-text-2">No document with that name.</li>}
        </ul>
      )}
      {asked.error && <Banner tone="failed">{asked.error.message}</Banner>}
      {asked.data && (
        <>
          {asked.data.map(({ kbId, explanation, error }) => (
            <section key={kbId} aria-live="polite" className="not-first:border-t not-first:border-line">
              {question.kbIds.length > 1 && (
                <h3 className="pt-2 text-text-2">
                  In <BaseName kbId={kbId} />
                </h3>
              )}
              {explanation ? <Explanation explanation={explanation} onOpen={onOpen} /> : <Banner tone="failed">{error?.message}</Banner>}
            </section>
          ))}
          <Button className="self-start" onClick={() => asked.reset()}>
            Ask about another document
          </Button>
        </>
      )}
    </div>
  );
}

function BaseName({ kbId }: { kbId: string }) {
  const { data } = useQuery({ ...knowledgeBaseQuery(kbId), staleTime: 60_000 });
  return <span className="font-medium text-text">{data?.name ?? "…"}</span>;
}

function Explanation({ explanation, onOpen }: { explanation: Explained; onOpen: (hit: Hit) => void }) {
  const bestLexical = Math.max(0, ...explanation.passages.map((hit) => hit.scores.lexical ?? 0));
  return (
    <div className="py-2">
      <h3 className="mb-2 font-semibold break-words">
        {explanation.document_name} {explanation.is_found ? `is result ${explanation.place ?? "–"}` : "is not found"}
      </h3>
      <ol>
        {explanation.stages.map((stage) => {
          const Icon = stage.is_passed ? CircleCheck : OctagonX;
          return (
            <li key={stage.stage} className="flex items-start gap-2 border-b border-line py-1.5">
              <Icon aria-hidden size={16} className={`mt-0.5 shrink-0 ${stage.is_passed ? "text-ready" : "text-failed"}`} />
              <span className="min-w-0">
                <span className="font-medium">
                  {STAGE_WORDS[stage.stage]}
                  <span className="sr-only">{stage.is_passed ? ": yes" : ": no"}</span>
                </span>
                <span className={`block break-words ${stage.is_passed ? "text-text-2" : "text-failed"}`}>{stage.detail}</span>
              </span>
            </li>
          );
        })}
      </ol>
      {explanation.passages.length > 0 && (
        <>
          <h3 className="mt-4 mb-1 font-semibold">Its best passages</h3>
          <ol className="-mx-4">
            {explanation.passages.map((hit) => (
              <HitCard
                key={hit.chunk_id}
                hit={hit}
                kind="own"
                place={null}
                change={null}
                bestLexical={bestLexical}
                isOpen={false}
                onOpen={() => onOpen(hit)}
              />
            ))}
          </ol>
        </>
      )}
    </div>
  );
}
