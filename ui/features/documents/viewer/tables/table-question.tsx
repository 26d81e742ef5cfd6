"use client";

import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";

import { ApiError } from "@/api/errors";
import type { DocumentDetail } from "@/api/queries";
import { ErrorState, SkeletonBlock } from "@/components/feedback";
import { Button } from "@/components/ui/button";
import { Refusal, Textarea } from "@/components/ui/field";

import { type Table, tableAnswerQuery } from "./queries";
import { TableAnswer } from "./table-answer";
import { exampleQueries } from "./table-words";

const LONGEST_SQL = 10_000;

/** A query about a table, as the address says, with its answer. */
export function TableQuestion({
  document,
  table,
  sql,
  onAsk,
}: {
  document: DocumentDetail;
  table: Table;
  sql: string;
  onAsk: (sql: string) => void;
}) {
  const [draft, setDraft] = useState<string | null>(null);
  const { data, error, isFetching, refetch } = useQuery(tableAnswerQuery(document, table.table_id, sql));
  const [field, hint, problem] = [useId(), useId(), useId()];
  const text = draft ?? sql;
  const isRefused = error instanceof ApiError && error.status < 500 && !isFetching;
  const ask = (wanted: string) => {
    if (wanted.trim() === "" || isFetching) return;
    setDraft(null);
    if (wanted === sql) void refetch();
    else onAsk(wanted);
  };
  return (
    <section className="flex flex-col gap-3">
      <form
        className="flex flex-col gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          ask(text);
        }}
      >
        <label htmlFor={field} className="text-lg font-semibold">
          Ask in SQL
        </label>
        <Textarea
          id={field}
          className="font-mono"
          rows={4}
          spellCheck={false}
          autoCapitalize="off"
          autoComplete="off"
          maxLength={LONGEST_SQL}
          value={text}
          aria-describedby={isRefused ? `${hint} ${problem}` : hint}
          aria-invalid={isRefused}
          onChange={(event) => setDraft(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
            event.preventDefault();
            ask(text);
          }}
        />
        <p id={hint} className="text-text-3">
          One SELECT about the table, which is named rows. Write names of columns in double quotes. Ctrl+Enter asks.
        </p>
        {isRefused && (
          <span id={problem}>
            <Refusal>{error.fields.find((item) => item.field === "sql")?.reason ?? error.message}</Refusal>
          </span>
        )}
        <div className="flex flex-wrap items-center gap-2">
          <Button type="submit" variant="primary" className="min-w-[88px]" disabled={text.trim() === "" || isFetching}>
            {isFetching ? "Asking…" : "Ask"}
          </Button>
          <span className="ml-2 text-text-2">Examples</span>
          {exampleQueries(table.columns).map((example) => (
            <Button key={example.label} size="small" className="max-w-full" title={example.sql} onClick={() => ask(example.sql)}>
              <span className="truncate">{example.label}</span>
            </Button>
          ))}
        </div>
      </form>
      {isFetching ? (
        <SkeletonBlock lines={6} />
      ) : error ? (
        !isRefused && <ErrorState error={error} title="The query was not answered" retry={() => void refetch()} />
      ) : (
        data && <TableAnswer answer={data} table={table} />
      )}
    </section>
  );
}
