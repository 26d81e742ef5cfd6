"use client";

import Link from "next/link";

import { passageHref, passageOf } from "@/components/viewer/passage";
import { SourceLink } from "@/components/source-link";
import { formatScore } from "@/lib/format";

import type { Hit } from "./queries";

/** A passage with its place, its scores by leg, and what matched. */
export function HitCard({
  hit,
  kind,
  place,
  change,
  bestLexical,
  isOpen,
  onOpen,
}: {
  hit: Hit;
  /** A result, context beside one, or a passage of a document that is asked about. */
  kind: "match" | "neighbour" | "own";
  place: number | null;
  change: string | null;
  bestLexical: number;
  isOpen: boolean;
  onOpen: () => void;
}) {
  const pages = hit.first_page === hit.last_page ? `page ${hit.first_page}` : `pages ${hit.first_page}–${hit.last_page}`;
  const { scores } = hit;
  return (
    <li
      data-item={hit.document_id}
      className={`flex gap-3 border-b border-line px-4 py-3 ${kind === "neighbour" ? "opacity-80" : ""} ${isOpen ? "bg-selected" : ""}`}
    >
      <span className="w-5 shrink-0 text-right font-semibold tabular-nums">
        {place ?? <span className="sr-only">{kind === "own" ? "Passage" : "Context"}</span>}
      </span>
      <div className="min-w-0 flex-1">
        <div className="flex flex-wrap items-center gap-x-2">
          <button
            type="button"
            className="min-w-0 truncate text-left font-semibold hover:underline"
            onClick={onOpen}
            title={`Show the page of ${hit.source}`}
          >
            {hit.source}
          </button>
          <Link
            className="text-text-2 hover:underline"
            href={passageHref(hit.document_id, passageOf(hit))}
            title="Open the document at this page"
          >
            {pages}
          </Link>
          {hit.index_type !== "paragraph" && <span className="chip">{hit.index_type === "website" ? "whole page" : hit.index_type}</span>}
          {kind === "neighbour" && <span className="text-text-3">context of a result</span>}
          {change && <span className="chip">{change}</span>}
        </div>
        <Breadcrumb names={placeNames(hit)} />
        {kind !== "neighbour" && (
          <dl className="flex flex-wrap items-center gap-x-4 text-xs text-text-2">
            <Score name="Relevance" value={hit.relevance} />
            {scores.vector !== null && (
              <Score name="Vector" value={scores.vector} share={scores.vector} rank={scores.vector_rank} series={1} />
            )}
            {scores.lexical !== null && (
              <Score
                name="Words"
                value={scores.lexical}
                share={bestLexical > 0 ? scores.lexical / bestLexical : 0}
                rank={scores.lexical_rank}
                series={2}
              />
            )}
            {scores.rerank !== null && <Score name="Reranked" value={scores.rerank} />}
          </dl>
        )}
        <Details hit={hit} />
        <p className="mt-1 text-base break-words whitespace-pre-line">
          <Marked text={hit.content} spans={hit.highlights} />
        </p>
      </div>
    </li>
  );
}

/** The sheet, slide or chapter of a passage, then the headings above it, each once. */
function placeNames(hit: Hit): string[] {
  return [...new Set([hit.page_name, ...hit.heading_path].filter(Boolean))];
}

function Breadcrumb({ names }: { names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <p className="truncate text-text-2" title={names.join(" › ")}>
      <span className="sr-only">Under </span>
      {names.join(" › ")}
    </p>
  );
}

/** The tags of the document, the chosen metadata, and the address of its original. */
function Details({ hit }: { hit: Hit }) {
  const metadata = Object.entries(hit.metadata);
  if (hit.tags.length === 0 && metadata.length === 0 && !hit.source_url) return null;
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-text-2">
      {hit.tags.length > 0 && (
        <ul className="flex flex-wrap gap-1" aria-label="Tags">
          {hit.tags.map((tag) => (
            <li key={tag} className="chip">
              {tag}
            </li>
          ))}
        </ul>
      )}
      {metadata.map(([name, value]) => (
        <span key={name} className="min-w-0 truncate">
          {name}: {typeof value === "string" ? value : JSON.stringify(value)}
        </span>
      ))}
      <SourceLink address={hit.source_url} />
    </div>
  );
}

function Score({
  name,
  value,
  share,
  rank,
  series,
}: {
  name: string;
  value: number;
  share?: number;
  rank?: number | null;
  series?: 1 | 2;
}) {
  return (
    <div className="flex items-center gap-1.5" title={rank ? `Rank ${rank} by ${name.toLowerCase()}` : undefined}>
      <dt>{name}</dt>
      <dd className="font-semibold text-text tabular-nums">{formatScore(value)}</dd>
      {share !== undefined && series && (
        <span aria-hidden className="h-1.5 w-12 overflow-hidden rounded bg-hover">
          <span
            className="block h-full rounded"
            style={{ width: `${Math.round(Math.min(1, Math.max(0, share)) * 100)}%`, background: `var(--series-${series})` }}
          />
        </span>
      )}
    </div>
  );
}

/** Text with spans [start, end) marked, counted in code points as the API counts. */
function Marked({ text, spans }: { text: string; spans: readonly (readonly number[])[] }) {
  if (spans.length === 0) return text;
  const characters = Array.from(text);
  const pieces: React.ReactNode[] = [];
  let at = 0;
  for (const [start = 0, end = 0] of [...spans].sort(([first = 0], [second = 0]) => first - second)) {
    if (start < at || end <= start) continue;
    pieces.push(characters.slice(at, start).join(""), <mark key={start}>{characters.slice(start, end).join("")}</mark>);
    at = end;
  }
  pieces.push(characters.slice(at).join(""));
  return pieces;
}
