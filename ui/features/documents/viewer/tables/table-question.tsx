"use client";

import { useQuery } from "@tanstack/react-query";

import { ApiError } from "@/api/errors";
import type { DocumentDetail } from "@/api/queries";
import { ErrorState, SkeletonBlock } from "@/components/feedback";
import { Button } from "@/components/ui/button";
import { Refusal } from "@/components/ui/field";

import { type Table, tableAnswerQuery } from "./queries";
import { QueryForm } from "./query-form";
import { SqlForm } from "./sql-form";
import { EMPTY, readQuery, toSql } from "./structured-query";
import { TableAnswer } from "./table-answer";

/** A question about a table as the address says it: SQL, or a query of the form. */
export interface Question {
  sql: string;
  form: string;
  isSql: boolean;
}

/** Ask a table by a form or in SQL; the answer follows. */
export function TableQuestion({
  document,
  table,
  question,
  onAsk,
}: {
  document: DocumentDetail;
  table: Table;
  question: Question;
  onAsk: (question: Question) => void;
}) {
  const { columns } = table;
  const query = readQuery(question.form, columns);
  const isSql = question.isSql || question.sql !== "";
  const sql = isSql ? question.sql : query === null ? "" : toSql(query, columns);
  const { data, error, isFetching, refetch } = useQuery(tableAnswerQuery(document, table.table_id, sql));
  const isRefused = error instanceof ApiError && error.status < 500 && !isFetching;
  const refusal = isRefused ? (error.fields.find((item) => item.field === "sql")?.reason ?? error.message) : null;
  const ask = (wanted: Question, wantedSql: string) => {
    if (wantedSql === sql && wanted.sql === question.sql && wanted.form === question.form) void refetch();
    else onAsk(wanted);
  };
  return (
    <section className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-2">
        <h3 className="text-lg font-semibold">Ask the table</h3>
        <div role="group" aria-label="Way to ask" className="flex gap-1">
          <Button
            size="small"
            className={isSql ? "" : "bg-selected"}
            aria-pressed={!isSql}
            onClick={() => onAsk({ sql: "", form: question.form, isSql: false })}
          >
            Form
          </Button>
          <Button
            size="small"
            className={isSql ? "bg-selected" : ""}
            aria-pressed={isSql}
            onClick={() => onAsk({ sql, form: question.form, isSql: true })}
          >
            SQL
          </Button>
        </div>
      </div>
      {isSql ? (
        <SqlForm
          key={question.sql}
          table={table}
          sql={question.sql}
          refusal={refusal}
          isAsking={isFetching}
          onAsk={(wanted) => ask({ sql: wanted, form: question.form, isSql: true }, wanted)}
        />
      ) : (
        <>
          <QueryForm
            key={question.form}
            columns={columns}
            query={query ?? EMPTY}
            isAsking={isFetching}
            onAsk={(wanted) => ask({ sql: "", form: JSON.stringify(wanted), isSql: false }, toSql(wanted, columns))}
            onEditAsSql={(wanted) => onAsk({ sql: wanted, form: question.form, isSql: true })}
          />
          {refusal !== null && <Refusal>{refusal}</Refusal>}
        </>
      )}
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
