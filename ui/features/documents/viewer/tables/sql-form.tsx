"use client";

import { useId, useState } from "react";

import { Button } from "@/components/ui/button";
import { Refusal, Textarea } from "@/components/ui/field";

import type { Table } from "./queries";
import { exampleQueries } from "./table-words";

const LONGEST_SQL = 10_000;

/** A query about a table in SQL, with examples. */
export function SqlForm({
  table,
  sql,
  refusal,
  isAsking,
  onAsk,
}: {
  table: Table;
  sql: string;
  /** What is wrong with the query. */
  refusal: string | null;
  isAsking: boolean;
  onAsk: (sql: string) => void;
}) {
  const [draft, setDraft] = useState<string | null>(null);
  const [field, hint, problem] = [useId(), useId(), useId()];
  const text = draft ?? sql;
  const ask = (wanted: string) => {
    if (wanted.trim() === "" || isAsking) return;
    setDraft(null);
    onAsk(wanted);
  };
  return (
    <form
      className="flex flex-col gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        ask(text);
      }}
    >
      <label htmlFor={field} className="font-medium">
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
        aria-describedby={refusal === null ? hint : `${hint} ${problem}`}
        aria-invalid={refusal !== null}
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
      {refusal !== null && (
        <span id={problem}>
          <Refusal>{refusal}</Refusal>
        </span>
      )}
      <div className="flex flex-wrap items-center gap-2">
        <Button type="submit" variant="primary" className="min-w-[88px]" disabled={text.trim() === "" || isAsking}>
          {isAsking ? "Asking…" : "Ask"}
        </Button>
        <span className="ml-2 text-text-2">Examples</span>
        {exampleQueries(table.columns).map((example) => (
          <Button key={example.label} size="small" className="max-w-full" title={example.sql} onClick={() => ask(example.sql)}>
            <span className="truncate">{example.label}</span>
          </Button>
        ))}
      </div>
    </form>
  );
}
