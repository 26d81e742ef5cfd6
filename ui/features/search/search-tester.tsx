"use client";

import { useQuery } from "@tanstack/react-query";
import { Columns2, ListFilter, Search } from "lucide-react";
import { parseAsArrayOf, parseAsString, useQueryStates } from "nuqs";
import { useState } from "react";

import { knowledgeBaseListQuery } from "@/api/queries";
import { BasePicker } from "@/components/base-picker";
import { EmptyState } from "@/components/feedback";
import { PageHead } from "@/components/page-head";
import { Button, ButtonLink } from "@/components/ui/button";
import { Input } from "@/components/ui/field";
import { PageBeside } from "@/components/viewer/page-beside";
import { passageOf } from "@/components/viewer/passage";
import { noteSearch } from "@/state/first-steps";
import { useShortcuts } from "@/state/shortcuts";
import { NARROW, useMedia } from "@/state/use-media";

import { type Configuration, DEFAULT, readConfiguration, writeConfiguration } from "./configuration";
import { filterProblem } from "./filter";
import { FilterBuilder } from "./filter-builder";
import { type Hit, searchQuery } from "./queries";
import { recentQuestions, rememberQuestion } from "./recent";
import { ResultColumn } from "./result-column";

export function SearchTester() {
  const [url, setUrl] = useQueryStates(
    {
      kb: parseAsArrayOf(parseAsString).withDefault([]),
      q: parseAsString.withDefault(""),
      a: parseAsString.withDefault("hybrid"),
      b: parseAsString,
      f: parseAsString.withDefault(""),
    },
    { history: "push" },
  );
  const isNarrow = useMedia(NARROW);
  const { data: bases } = useQuery(knowledgeBaseListQuery("", 50));
  const only = bases?.total_count === 1 ? bases.knowledge_bases[0]?.kb_id : undefined;
  // With one knowledge base there is nothing to choose.
  const kbIds = url.kb.length > 0 ? url.kb : only !== undefined ? [only] : [];
  const [text, setText] = useState(url.q);
  const [shown, setShown] = useState(url.q);
  if (shown !== url.q) {
    setShown(url.q);
    setText(url.q);
  }
  const [isFilterOpen, setFilterOpen] = useState(url.f !== "");
  const [shownColumn, setShownColumn] = useState<"a" | "b">("a");
  const [preview, setPreview] = useState<Hit | null>(null);
  const [explained, setExplained] = useState<"a" | "b" | null>(null);
  const filter = filterProblem(url.f) === null ? url.f : "";
  const question = (configuration: Configuration) => ({ query: url.q, kbIds, configuration, filter });
  const a = readConfiguration(url.a);
  const b = url.b === null ? null : readConfiguration(url.b);
  const answerA = useQuery(searchQuery(question(a)));
  const hits = answerA.data?.results ?? [];

  const submit = () => {
    const query = text.trim();
    if (query === "" || kbIds.length === 0) return;
    rememberQuestion(query);
    noteSearch();
    setPreview(null);
    if (query === url.q) void answerA.refetch();
    void setUrl({ q: query, kb: kbIds });
  };
  const columns = b === null ? (["a"] as const) : isNarrow ? ([shownColumn] as const) : (["a", "b"] as const);
  const toggleCompare = () => {
    setPreview(null);
    void setUrl({ b: b === null ? writeConfiguration({ ...a, mode: a.mode === "vector" ? "hybrid" : "vector" }) : null });
  };
  useShortcuts([
    { keys: "/", label: "Ask", group: "Search", run: () => document.getElementById("question")?.focus() },
    { keys: "e", label: "Ask why a document is missing", group: "Search", run: () => setExplained(columns[0]) },
    ...Array.from({ length: 9 }, (_, at) => ({
      keys: String(at + 1),
      label: `Open hit ${at + 1}`,
      group: "Search" as const,
      run: () => {
        const hit = hits[at];
        if (hit) setPreview(hit);
      },
    })),
    { keys: "Escape", label: "Close the side page", group: "Search", run: () => setPreview(null) },
  ]);

  const hasNoBases = bases?.total_count === 0;
  return (
    <>
      <PageHead title="Search tester">
        <Button
          type="button"
          className={filter ? "bg-selected" : ""}
          onClick={() => setFilterOpen(!isFilterOpen)}
          aria-expanded={isFilterOpen}
        >
          <ListFilter aria-hidden size={14} />
          <span className="max-md:sr-only">Filter{filter ? ": on" : ""}</span>
        </Button>
        <Button type="button" className={b === null ? "" : "bg-selected"} onClick={toggleCompare} aria-pressed={b !== null}>
          <Columns2 aria-hidden size={14} />
          <span className="max-md:sr-only">Compare{b === null ? "" : ": on"}</span>
        </Button>
      </PageHead>
      <form
        className="bar"
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <label className="min-w-[200px] flex-1 max-md:basis-full">
          <span className="sr-only">Question</span>
          <Input
            id="question"
            placeholder="How can we end the contract?"
            list="recent-questions"
            autoComplete="off"
            maxLength={20_000}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        </label>
        <RecentQuestions key={url.q} />
        <BasePicker kbIds={kbIds} onChange={(ids) => void setUrl({ kb: ids })} />
        <Button type="submit" variant="primary" disabled={text.trim() === "" || kbIds.length === 0}>
          <Search aria-hidden size={14} /> Search
        </Button>
      </form>
      {isFilterOpen && <FilterBuilder key={url.f} text={url.f} onApply={(f) => void setUrl({ f: f || null })} />}
      {b !== null && isNarrow && (
        <div className="flex border-b border-line px-3" role="group" aria-label="Configuration">
          {(["a", "b"] as const).map((column) => (
            <button
              key={column}
              type="button"
              className="tab"
              aria-current={shownColumn === column ? "page" : undefined}
              onClick={() => setShownColumn(column)}
            >
              {column.toUpperCase()}
            </button>
          ))}
        </div>
      )}
      <div className="flex min-h-0 flex-1">
        {hasNoBases ? (
          <div className="flex-1">
            <EmptyState
              title="No knowledge base to search yet"
              action={
                <ButtonLink href="/kbs/new/" variant="primary">
                  Create one
                </ButtonLink>
              }
            >
              A knowledge base contains every document that shares its tags.
            </EmptyState>
          </div>
        ) : (
          columns.map((column) => (
            <ResultColumn
              key={column}
              name={column.toUpperCase()}
              isCompared={b !== null}
              question={question(column === "a" ? a : (b ?? DEFAULT))}
              other={column === "b" ? answerA.data : undefined}
              onConfigure={(configuration) => void setUrl({ [column]: writeConfiguration(configuration) })}
              onOpen={setPreview}
              opened={preview}
              isExplaining={column === explained}
              onExplain={(isOpen) => setExplained(isOpen ? column : null)}
            />
          ))
        )}
        {preview && (
          <PageBeside
            documentId={preview.document_id}
            documentName={preview.source}
            passage={passageOf(preview)}
            onClose={() => setPreview(null)}
          />
        )}
      </div>
    </>
  );
}

function RecentQuestions() {
  const [recent] = useState(recentQuestions);
  return (
    <datalist id="recent-questions">
      {recent.map((question) => (
        <option key={question} value={question} />
      ))}
    </datalist>
  );
}
