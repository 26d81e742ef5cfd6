import Link from "next/link";

import { passageHref, passageOf } from "@/components/viewer/passage";

import { isObject, type Json } from "./answer-schema";
import { shortly } from "./answer-values";
import type { RunPassage } from "./queries";

export function placeOf(passage: RunPassage): string {
  return passageHref(passage.document_id, passageOf(passage));
}

export function pagesOf({ first_page: first, last_page: last }: RunPassage): string {
  return first === last ? `page ${first}` : `pages ${first} to ${last}`;
}

/** A text, each [n] in it that is a passage which the model saw leading to its page. */
export function Cited({ text, passages }: { text: string; passages: ReadonlyMap<number, RunPassage> }) {
  return text.split(/(\[\d+\])/).map((piece, place) => {
    const passage = passages.get(Number(/^\[(\d+)\]$/.exec(piece)?.[1]));
    return passage === undefined ? (
      piece
    ) : (
      <Link
        key={place}
        className="text-link underline"
        href={placeOf(passage)}
        aria-label={`Citation ${passage.number}: ${passage.source}, ${pagesOf(passage)}`}
      >
        {piece}
      </Link>
    );
  });
}

/** An answer: a text, or its fields by name. */
export function AnswerView({ answer, passages = new Map() }: { answer: unknown; passages?: ReadonlyMap<number, RunPassage> }) {
  if (!isObject(answer)) {
    return (
      <p className="text-base break-words whitespace-pre-wrap">
        <Cited text={typeof answer === "string" ? answer : answer == null ? "" : JSON.stringify(answer)} passages={passages} />
      </p>
    );
  }
  return (
    <dl className="flex flex-col divide-y divide-line rounded-lg border border-line bg-surface">
      {Object.entries(answer).map(([name, value]) => (
        <div key={name} className="grid gap-x-4 gap-y-0.5 px-3 py-2 sm:grid-cols-[180px_minmax(0,1fr)]">
          <dt className="font-mono text-xs/5 break-words text-text-2">{name}</dt>
          <dd className="min-w-0 break-words whitespace-pre-wrap">
            <Value value={value} passages={passages} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Value({ value, passages }: { value: Json; passages: ReadonlyMap<number, RunPassage> }) {
  const isNested = Array.isArray(value) ? value.some((item) => typeof item === "object") : isObject(value);
  if (isNested) return <pre className="font-mono text-xs whitespace-pre-wrap">{JSON.stringify(value, null, 2)}</pre>;
  return <Cited text={shortly(value)} passages={passages} />;
}
