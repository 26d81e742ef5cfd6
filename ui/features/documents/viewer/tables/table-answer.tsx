import { passageHref } from "@/components/viewer/passage";
import { formatCount, plural } from "@/lib/format";

import type { Table, TableAnswer as Answer } from "./queries";
import { RowsTable } from "./rows-table";
import { isNumber, isNumberOfResult } from "./table-words";

/** The result of a query, and the rows of the table that it rests on. */
export function TableAnswer({ answer, table }: { answer: Answer; table: Table }) {
  return (
    <div className="flex flex-col gap-4">
      <section className="flex flex-col gap-2">
        <h3 className="font-semibold" role="status">
          Result: {plural(answer.rows.length, "row")}
          {answer.is_truncated && " shown"}
        </h3>
        {answer.is_truncated && <p className="text-text-2">The result is cut: it has more rows, or longer values.</p>}
        {answer.rows.length === 0 ? (
          <p className="text-text-2">No row fits the query.</p>
        ) : (
          <RowsTable
            label="Result"
            columns={answer.columns.map(({ name, type }) => ({ name, isNumber: isNumberOfResult(type), note: type }))}
            rows={answer.rows.map((values) => ({ values }))}
          />
        )}
      </section>
      {answer.source_rows.length > 0 && <SourceRows answer={answer} table={table} />}
    </div>
  );
}

function SourceRows({ answer, table }: { answer: Answer; table: Table }) {
  const { source_rows: rows, source_row_count: count } = answer;
  return (
    <section className="flex flex-col gap-2">
      <h3 className="font-semibold">Rests on {plural(count, "row")} of the table</h3>
      {(rows.length < count || answer.rests_on === "all") && (
        <p className="text-text-2">
          {rows.length < count && `The first ${formatCount(rows.length)} are shown. `}
          {answer.rests_on === "all" && "The query has joins, so every row is named."}
        </p>
      )}
      <RowsTable
        label="Source rows"
        columns={table.columns.map(({ name, type }) => ({ name, isNumber: isNumber(type) }))}
        rows={rows.map(({ number, values, page_number: page, start, end }) => ({
          number,
          values,
          href:
            start === null || end === null || end <= start
              ? null
              : passageHref(answer.document_id, { firstPage: page, lastPage: page, start, end }),
        }))}
      />
    </section>
  );
}
