"use client";

import { ArrowDown, ArrowUp } from "lucide-react";
import { useEffect, useRef } from "react";

import type { DocumentDetail, Tag } from "@/api/queries";
import { SkeletonRows } from "@/components/feedback";
import { DataTable } from "@/components/ui/data-table";
import type { Progress } from "@/lib/document-state";

import { DeletedRow, DocumentRow } from "./document-row";
import type { DocumentSort } from "./queries";
import type { Selection } from "./use-selection";

/** Columns give way to the name: each is shown from the width of the list at which the name keeps its 200 px. */
interface Column {
  label: string;
  sort?: { ascending: DocumentSort; descending: DocumentSort };
  className: string;
}

const COLUMNS: readonly Column[] = [
  { label: "Name", sort: { ascending: "document_name", descending: "-document_name" }, className: "" },
  { label: "Tags", className: "max-md:hidden w-[22%]" },
  { label: "State", sort: { ascending: "state", descending: "-state" }, className: "max-md:hidden w-[210px]" },
  { label: "In KBs", className: "@max-[928px]:hidden w-[72px]" },
  { label: "Pages", className: "@max-[1010px]:hidden w-[64px] number" },
  { label: "Size", sort: { ascending: "byte_size", descending: "-byte_size" }, className: "@max-[836px]:hidden w-[84px] number" },
  { label: "Added", sort: { ascending: "created_at", descending: "-created_at" }, className: "max-md:hidden w-[116px]" },
];

const SKELETON = ["14px", "70%", "50%", "60%", "40%", "30%", "60%", "70%"];

export function DocumentTable({
  rows,
  skeletonRows,
  tagIndex,
  progress,
  selection,
  sort,
  onSort,
  cursor,
  deletedIds,
  onOpen,
  onChanged,
}: {
  rows: readonly DocumentDetail[] | undefined;
  skeletonRows: number;
  tagIndex: ReadonlyMap<string, Tag> | undefined;
  progress: ReadonlyMap<string, Progress> | undefined;
  selection: Selection;
  sort: DocumentSort;
  onSort: (sort: DocumentSort) => void;
  cursor: number;
  deletedIds: ReadonlySet<string>;
  onOpen: (document: DocumentDetail) => void;
  onChanged: () => void;
}) {
  const lastToggled = useRef<number | null>(null);
  const body = useRef<HTMLTableSectionElement>(null);
  useEffect(() => {
    body.current?.children[cursor]?.scrollIntoView({ block: "nearest" });
  }, [cursor]);
  const shown = rows ?? [];
  const choosable = shown.filter((row) => !deletedIds.has(row.document_id));
  const selectedHere = choosable.filter((row) => selection.has(row.document_id)).length;
  const toggle = (at: number, withShift: boolean) => {
    const row = shown[at];
    if (!row || deletedIds.has(row.document_id)) return;
    const isOn = !selection.has(row.document_id);
    const from = withShift && lastToggled.current !== null ? lastToggled.current : at;
    const between = shown.slice(Math.min(from, at), Math.max(from, at) + 1);
    selection.set(
      between.filter((each) => !deletedIds.has(each.document_id)),
      isOn,
    );
    lastToggled.current = at;
  };
  return (
    <DataTable
      caption="Documents"
      bodyRef={body}
      head={
        <>
          <th className="w-[42px] pl-4!">
            <input
              type="checkbox"
              aria-label="Select all on this page"
              checked={choosable.length > 0 && selectedHere === choosable.length}
              disabled={choosable.length === 0}
              ref={(box) => {
                if (box) box.indeterminate = selectedHere > 0 && selectedHere < choosable.length;
              }}
              onChange={() => selection.set(choosable, selectedHere < choosable.length)}
            />
          </th>
          {COLUMNS.map((column) => (
            <HeaderCell key={column.label} column={column} sort={sort} onSort={onSort} />
          ))}
        </>
      }
    >
      {rows === undefined ? (
        <SkeletonRows rows={skeletonRows} columns={SKELETON} />
      ) : (
        rows.map((row, at) =>
          deletedIds.has(row.document_id) ? (
            <DeletedRow key={row.document_id} document={row} hasCursor={at === cursor} />
          ) : (
            <DocumentRow
              key={row.document_id}
              document={row}
              tagIndex={tagIndex}
              progress={progress?.get(row.document_id)}
              isSelected={selection.has(row.document_id)}
              hasCursor={at === cursor}
              onToggle={(withShift) => toggle(at, withShift)}
              onOpen={() => onOpen(row)}
              onChanged={onChanged}
            />
          ),
        )
      )}
    </DataTable>
  );
}

function HeaderCell({ column, sort, onSort }: { column: Column; sort: DocumentSort; onSort: (sort: DocumentSort) => void }) {
  const { label, sort: by, className } = column;
  if (!by) return <th className={className}>{label}</th>;
  const direction = sort === by.ascending ? "ascending" : sort === by.descending ? "descending" : "none";
  // Moments and sizes are wanted largest first, names from A.
  const first = label === "Name" || label === "State" ? by.ascending : by.descending;
  const other = first === by.ascending ? by.descending : by.ascending;
  const Arrow = direction === "ascending" ? ArrowUp : ArrowDown;
  return (
    <th className={className} aria-sort={direction} {...(label === "Name" && { "data-column": "name" })}>
      <button
        type="button"
        className={`inline-flex h-8 items-center gap-1 hover:text-text ${direction === "none" ? "" : "font-semibold text-text"}`}
        onClick={() => onSort(sort === first ? other : first)}
      >
        {label}
        {direction !== "none" && <Arrow aria-hidden size={12} />}
      </button>
    </th>
  );
}
