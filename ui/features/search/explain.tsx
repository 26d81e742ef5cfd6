"use client";

import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { CircleCheck, OctagonX } from "lucide-react";
import { useDeferredValue, useState } from "react";

import type { Schemas } from "@/api/client";
import { documentNamesQuery } from "@/api/queries";
import { Dialog } from "@/components/dialog";
import { Banner } from "@/components/state";

import { HitCard } from "./hit-card";
import { explain, type Explanation as Explained, type Question } from "./queries";

const STAGE_WORDS: Record<Schemas["Stage"], string> = {
  tagged: "Shares a tag",
  extracted: "Text is read",
  indexed: "Indexed",
  filter: "Passes the filter",
  matched: "Found by the question",
  threshold: "Relevant enough",
  not_repeated: "Says something of its own",
  ranked: "Among the results",
};

/** Why is another document missing? The stages it passes, up to the first that it does not. */
export function Explain({ question, open, onOpenChange }: { question: Question; open: boolean; onOpenChange: (open: boolean) => void }) {
  return (
    <>
      <p className="px-4 py-3">
        Expected another document?{" "}
        <button type="button" className="text-link hover:underline" onClick={() => onOpenChange(true)}>
          Ask why it is missing
        </button>
      </p>
      <Dialog open={open} onOpenChange={onOpenChange} title="Why is it missing?" description={<>For “{question.query}”</>} wide>
        <Asking question={question} />
      </Dialog>
    </>
  );
}

function Asking({ question }: { question: Question }) {
  const [text, setText] = useState("");
  const wanted = useDeferredValue(text.trim());
  const documents = useQuery({ ...documentNamesQuery(wanted), placeholderData: keepPreviousData });
  const asked = useMutation({
    mutationFn: (documentId: string) => explain(question, question.kbIds[0] ?? "", documentId),
  });
  return (
    <div className="flex flex-col gap-3">
      {question.kbIds.length > 1 && <p className="text-text-2">Asked of the first of the {question.kbIds.length} knowledge bases.</p>}
      <label className="flex flex-col gap-1">
        <span className="font-medium">Which document?</span>
        <input className="field" autoFocus placeholder="A part of its name" value={text} onChange={(event) => setText(event.target.value)} />
      </label>
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
          {documents.data?.documents.length === 0 && <li className="text-text-2">No document is called so.</li>}
        </ul>
      )}
      {asked.error && <Banner tone="failed">{asked.error.message}</Banner>}
      {asked.data && (
        <>
          <Explanation explanation={asked.data} />
          <button type="button" className="button self-start" onClick={() => asked.reset()}>
            Ask about another
          </button>
        </>
      )}
    </div>
  );
}

function Explanation({ explanation }: { explanation: Explained }) {
  return (
    <section aria-live="polite">
      <h3 className="mb-2 font-semibold break-words">
        {explanation.document_name} {explanation.is_found ? `is found, at place ${explanation.place ?? "–"}` : "is not found"}
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
          <h3 className="mt-4 mb-1 font-semibold">Its own best passages</h3>
          <ol className="-mx-4">
            {explanation.passages.map((hit) => (
              <HitCard key={hit.chunk_index} hit={hit} place={null} change={null} bestLexical={0} isOpen={false} onOpen={() => undefined} />
            ))}
          </ol>
        </>
      )}
    </section>
  );
}
