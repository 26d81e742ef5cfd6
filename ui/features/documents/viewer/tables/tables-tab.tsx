"use client";

import { useQuery } from "@tanstack/react-query";
import { parseAsBoolean, parseAsString, useQueryStates } from "nuqs";

import type { DocumentDetail } from "@/api/queries";
import { EmptyState, ErrorState, SkeletonBlock } from "@/components/feedback";
import { ScrollArea } from "@/components/scroll-area";
import { Banner } from "@/components/state";
import { Button } from "@/components/ui/button";
import { DataTable } from "@/components/ui/data-table";
import { Select } from "@/components/ui/select";
import { formatCount } from "@/lib/format";

import { type Table, tablesQuery } from "./queries";
import { RowsTable } from "./rows-table";
import { type Question, TableQuestion } from "./table-question";
import { isNumber, tableSize, tableTitle } from "./table-words";

/** Columns up to this number are shown unfolded. */
const FEW_COLUMNS = 12;

/** The tables of a document: columns, first rows, and answers to queries about the rows. */
export function TablesTab({ document }: { document: DocumentDetail }) {
  const [url, setUrl] = useQueryStates({
    table: parseAsString.withDefault(""),
    sql: parseAsString.withDefault(""),
    form: parseAsString.withDefault(""),
    isSql: parseAsBoolean.withDefault(false),
  });
  const { data, error, isFetching, refetch } = useQuery(tablesQuery(document));
  if (error && data === undefined) return <ErrorState error={error} retry={() => void refetch()} />;
  if (data === undefined) return <SkeletonBlock lines={10} />;
  const tables = data?.tables ?? [];
  const table = tables.find(({ table_id: id }) => id === url.table) ?? tables[0];
  return (
    <ScrollArea label="Tables" className="p-4">
      <div className="flex max-w-[1100px] flex-col gap-5">
        {data?.problem && (
          <Banner tone="warning">
            <p>{data.problem}</p>
            <Button size="small" className="mt-2" disabled={isFetching} onClick={() => void refetch()}>
              Try again
            </Button>
          </Banner>
        )}
        {data !== null && data.warnings.length > 0 && (
          <Banner tone="warning">
            {data.warnings.map((warning) => (
              <p key={warning}>{warning}</p>
            ))}
          </Banner>
        )}
        {table === undefined
          ? !data?.problem && (
              <EmptyState title="No tables found">
                Spreadsheets have a table on each sheet. In other files, tables count whose first row names their columns. Scanned pages
                have none.
              </EmptyState>
            )
          : tables.length > 1 && (
              <label className="flex max-w-[480px] flex-col gap-1">
                <span className="font-medium">Table</span>
                <Select
                  value={table.table_id}
                  onChange={(event) => void setUrl({ table: event.target.value, sql: null, form: null, isSql: null }, { history: "push" })}
                >
                  {tables.map((each) => (
                    <option key={each.table_id} value={each.table_id}>
                      {tableTitle(each)} ({tableSize(each)})
                    </option>
                  ))}
                </Select>
              </label>
            )}
        {table && (
          <OneTable
            key={table.table_id}
            document={document}
            table={table}
            question={url}
            onAsk={(question) => void setUrl({ table: table.table_id, ...question }, { history: "push" })}
          />
        )}
      </div>
    </ScrollArea>
  );
}

function OneTable({
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
  return (
    <>
      <section className="flex flex-col gap-3">
        <h2 className="text-lg font-semibold break-words">
          {tableTitle(table)} <span className="text-sm font-normal text-text-2">{tableSize(table)}</span>
        </h2>
        <details open={table.columns.length <= FEW_COLUMNS}>
          <summary className="mb-2 font-medium">Columns</summary>
          <Columns table={table} />
        </details>
        <h3 className="font-medium">First rows</h3>
        <RowsTable
          label="First rows"
          columns={table.columns.map(({ name, type }) => ({ name, isNumber: isNumber(type), note: type }))}
          rows={table.sample.map((values) => ({ values }))}
        />
      </section>
      <TableQuestion document={document} table={table} question={question} onAsk={onAsk} />
    </>
  );
}

function Columns({ table }: { table: Table }) {
  return (
    <div>
      <DataTable
        caption="Columns"
        isCards
        head={
          <>
            <th data-column="name">Name</th>
            <th className="w-[150px]">Type</th>
            <th className="number w-[110px]">Values</th>
          </>
        }
      >
        {table.columns.map(({ name, type, unit, value_count: count, note }) => (
          <tr key={name}>
            <td>
              <span className="block truncate font-medium" title={name}>
                {name}
              </span>
              {note && <span className="block text-xs break-words whitespace-normal text-text-2">{note}</span>}
            </td>
            <td>{unit === "" ? type : `${type}, ${unit}`}</td>
            <td className="number" data-label="Values">
              {formatCount(count)}
            </td>
          </tr>
        ))}
      </DataTable>
    </div>
  );
}
