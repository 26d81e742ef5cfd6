"use client";

import { useQuery } from "@tanstack/react-query";
import { SlidersHorizontal } from "lucide-react";
import dynamic from "next/dynamic";
import { useState } from "react";

import { EmptyState, ErrorState, SkeletonBlock } from "@/components/feedback";
import { Banner } from "@/components/state";
import { formatCount, formatMilliseconds } from "@/lib/format";
import { useListPlace } from "@/state/list-place";

import { type Configuration, describe } from "./configuration";
import { Explain } from "./explain";
import { HitCard } from "./hit-card";
import { type Hit, type Question, type SearchAnswer, searchQuery } from "./queries";

const ConfigurationForm = dynamic(() => import("./configuration-form").then((module) => module.ConfigurationForm), { ssr: false });

const keyOf = (hit: Hit) => `${hit.kb_id}:${hit.document_id}:${hit.index_type}:${hit.chunk_index}`;

/** How a place changed against the other configuration's results. */
function placeChange(hit: Hit, place: number, other: SearchAnswer | undefined): string | null {
  if (!other) return null;
  const was = other.results.filter((result) => result.is_matched).findIndex((result) => keyOf(result) === keyOf(hit)) + 1;
  if (was === 0) return "new";
  return was === place ? null : `was ${was}`;
}

export function ResultColumn({
  name,
  isCompared,
  question,
  other,
  onConfigure,
  onOpen,
  opened,
  isExplaining,
  onExplain,
}: {
  name: string;
  isCompared: boolean;
  question: Question;
  other: SearchAnswer | undefined;
  onConfigure: (configuration: Configuration) => void;
  onOpen: (hit: Hit) => void;
  opened: Hit | null;
  isExplaining: boolean;
  onExplain: (isOpen: boolean) => void;
}) {
  const [isConfiguring, setConfiguring] = useState(false);
  const { data, error, isLoading, refetch } = useQuery(searchQuery(question));
  const place = useListPlace({ name: `results ${name}`, view: JSON.stringify(question), isReady: data !== undefined });
  const hasAsked = question.query !== "" && question.kbIds.length > 0;
  const total = data ? Object.entries(data.timings_ms) : [];
  const matched = data?.results.filter((hit) => hit.is_matched) ?? [];
  return (
    <section
      aria-label={isCompared ? `Results ${name}` : "Results"}
      className="flex min-w-0 flex-1 flex-col border-line not-first:border-l"
    >
      <div className="flex min-h-[40px] flex-wrap items-center gap-1.5 border-b border-line px-4 py-1.5">
        {isCompared && <strong className="mr-1 font-semibold">{name}</strong>}
        <button
          type="button"
          className="flex min-h-7 flex-wrap items-center gap-1.5 rounded text-left"
          aria-expanded={isConfiguring}
          onClick={() => setConfiguring(!isConfiguring)}
        >
          <span className="sr-only">Configuration{isCompared && ` ${name}`}</span>
          {describe(question.configuration).map((word) => (
            <span key={word} className="chip">
              {word}
            </span>
          ))}
          <SlidersHorizontal aria-hidden size={14} className="text-text-3" />
        </button>
        <span className="flex-1" />
        {data && (
          <span
            className="text-xs text-text-2 tabular-nums"
            title={total.map(([step, milliseconds]) => `${step} ${milliseconds} ms`).join("\n")}
          >
            {formatMilliseconds(totalOf(data))} · {formatCount(data.searched_chunk_count)} chunks searched
          </span>
        )}
      </div>
      {isConfiguring && <ConfigurationForm configuration={question.configuration} onChange={onConfigure} />}
      <div {...place.props} className="min-h-0 flex-1 overflow-auto" aria-busy={isLoading}>
        {data?.degraded.map((step) => (
          <div key={step.step} className="px-4 pt-3">
            <Banner tone="warning">
              The search ran without {step.step}: {step.detail}
            </Banner>
          </div>
        ))}
        {!hasAsked ? (
          <EmptyState title="Ask a question">
            {question.kbIds.length === 0 ? "Choose a knowledge base first." : "Each passage comes with its document, page and scores."}
          </EmptyState>
        ) : error ? (
          <ErrorState error={error} retry={() => void refetch()} />
        ) : isLoading || !data ? (
          <SkeletonBlock lines={9} />
        ) : data.results.length === 0 ? (
          <EmptyState title="No results">
            {data.searched_chunk_count === 0
              ? "No passages match the filter, or nothing is indexed yet."
              : "No passage is relevant enough. Rephrase the question, or lower the minimum relevance."}
          </EmptyState>
        ) : (
          <ol>
            {data.results.map((hit) => {
              const position = matched.indexOf(hit) + 1;
              return (
                <HitCard
                  key={keyOf(hit)}
                  hit={hit}
                  kind={hit.is_matched ? "match" : "neighbour"}
                  place={hit.is_matched ? position : null}
                  change={hit.is_matched ? placeChange(hit, position, other) : null}
                  bestLexical={Math.max(...data.results.map((result) => result.scores.lexical ?? 0))}
                  isOpen={opened !== null && keyOf(opened) === keyOf(hit)}
                  onOpen={() => onOpen(hit)}
                />
              );
            })}
          </ol>
        )}
        {data && (
          <Explain name={isCompared ? name : null} question={question} open={isExplaining} onOpenChange={onExplain} onOpen={onOpen} />
        )}
      </div>
    </section>
  );
}

function totalOf(answer: SearchAnswer): number {
  const { total } = answer.timings_ms;
  return total ?? Object.values(answer.timings_ms).reduce((sum, milliseconds) => sum + milliseconds, 0);
}
