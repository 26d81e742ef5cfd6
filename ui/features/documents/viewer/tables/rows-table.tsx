import Link from "next/link";

import { DataTable } from "@/components/ui/data-table";
import { UNKNOWN } from "@/lib/format";

import { cellText } from "./table-words";

export interface RowsColumn {
  name: string;
  isNumber: boolean;
  /** Below the name: the type. */
  note?: string;
}

export interface Row {
  values: readonly unknown[];
  /** Of the row in its table. */
  number?: number;
  /** Where the row stands in the document's text. */
  href?: string | null;
}

/** Rows of a table or of a result; cards where it is narrow, and a frame that scrolls where it has many columns. */
export function RowsTable({ label, columns, rows }: { label: string; columns: readonly RowsColumn[]; rows: readonly Row[] }) {
  const hasNumbers = rows.some(({ number }) => number !== undefined);
  return (
    <div role="region" aria-label={label} tabIndex={0} className="max-h-[60vh] overflow-auto rounded-lg border border-line">
      <DataTable
        caption={label}
        isCards
        style={{ minWidth: 130 * columns.length + (hasNumbers ? 80 : 0) }}
        head={
          <>
            {hasNumbers && <th className="number w-[80px]">Row</th>}
            {columns.map(({ name, isNumber, note }, index) => (
              <th key={index} className={isNumber ? "number" : undefined} title={note ? `${name}: ${note}` : name}>
                <span className="block truncate">{name}</span>
              </th>
            ))}
          </>
        }
      >
        {rows.map((row, index) => (
          <tr key={index}>
            {hasNumbers && (
              <td className="number" data-label="Row">
                <RowNumber row={row} />
              </td>
            )}
            {columns.map(({ name, isNumber }, column) => {
              const text = cellText(row.values[column]);
              return (
                <td key={column} data-label={name} className={isNumber ? "number" : undefined} title={text ?? undefined}>
                  {text ?? <span className="text-text-3">{UNKNOWN}</span>}
                </td>
              );
            })}
          </tr>
        ))}
      </DataTable>
    </div>
  );
}

function RowNumber({ row: { number, href } }: { row: Row }) {
  if (!href) return <>{number}</>;
  return (
    <Link href={href} className="text-link hover:underline" aria-label={`Row ${number}: show in the text`}>
      {number}
    </Link>
  );
}
