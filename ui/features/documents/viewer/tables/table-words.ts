/** Tables of documents in words, and examples of queries about them. */

import { plural } from "@/lib/format";

import type { Table } from "./queries";

/** Types of files whose tables can be queried; the API decides, this only hides the tab of other files. */
const CONTENT_TYPES: ReadonlySet<string> = new Set([
  "text/csv",
  "text/tab-separated-values",
  "application/vnd.ms-excel",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  "application/vnd.oasis.opendocument.spreadsheet",
  "application/vnd.oasis.opendocument.spreadsheet-template",
  "application/vnd.apple.numbers",
  "text/html",
  "application/xhtml+xml",
  "text/markdown",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  "application/vnd.oasis.opendocument.text",
  "application/vnd.oasis.opendocument.text-template",
  "application/rtf",
  "application/msword",
  "application/vnd.apple.pages",
  "application/pdf",
  "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  "application/vnd.oasis.opendocument.presentation",
  "application/vnd.ms-powerpoint",
  "application/epub+zip",
  "message/rfc822",
  "application/vnd.ms-outlook",
  "application/x-ipynb+json",
]);

export function mayHaveTables(contentType: string): boolean {
  return CONTENT_TYPES.has(contentType);
}

/** The title of a table: its own, its sheet's, or its number. */
export function tableTitle(table: Pick<Table, "title" | "page_name" | "table_id">): string {
  return table.title || table.page_name || `Table ${table.table_id.slice(table.table_id.lastIndexOf("-") + 1)}`;
}

export function tableSize(table: Pick<Table, "row_count" | "columns">): string {
  return `${plural(table.row_count, "row")}, ${plural(table.columns.length, "column")}`;
}

type Column = Table["columns"][number];

const NUMBERS: ReadonlySet<string> = new Set(["integer", "decimal"]);
const MOMENTS: ReadonlySet<string> = new Set(["date", "timestamp"]);

export function isNumber(type: string): boolean {
  return NUMBERS.has(type);
}

/** Types of results, as the database names them: "decimal(38,2)". */
export function isNumberOfResult(type: string): boolean {
  return /^(u?(tiny|small|big|huge)?int(eger)?|float|real|double|decimal(\(\d+,\d+\))?)$/i.test(type);
}

/** A name as a query writes it. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export interface Example {
  label: string;
  sql: string;
}

/** Examples of queries that this table can answer. */
export function exampleQueries(columns: readonly Column[]): Example[] {
  const sum = columns.find(({ type }) => isNumber(type));
  const group = columns.find(({ type }) => type === "text") ?? columns.find(({ type }) => type === "boolean");
  const moment = columns.find(({ type }) => MOMENTS.has(type));
  const examples = [{ label: "Count the rows", sql: "SELECT count(*) AS number FROM rows" }];
  if (sum) {
    const [name, total] = [quoted(sum.name), `sum(${quoted(sum.name)})`];
    examples.push({ label: `Sum of ${sum.name}`, sql: `SELECT ${total} AS total FROM rows` });
    if (group) {
      examples.push({
        label: `${sum.name} by ${group.name}`,
        sql: `SELECT ${quoted(group.name)}, ${total} AS total\nFROM rows\nGROUP BY ${quoted(group.name)}\nORDER BY total DESC`,
      });
    }
    examples.push({ label: `Largest ${sum.name}`, sql: `SELECT * FROM rows\nORDER BY ${name} DESC NULLS LAST\nLIMIT 10` });
  } else if (group) {
    examples.push({
      label: `Rows by ${group.name}`,
      sql: `SELECT ${quoted(group.name)}, count(*) AS number\nFROM rows\nGROUP BY ${quoted(group.name)}\nORDER BY number DESC`,
    });
  }
  if (moment) {
    examples.push({ label: `Latest ${moment.name}`, sql: `SELECT * FROM rows\nORDER BY ${quoted(moment.name)} DESC NULLS LAST\nLIMIT 10` });
  }
  return examples;
}

/** A value in a cell; null: there is none. */
export function cellText(value: unknown): string | null {
  if (value === null || value === undefined || value === "") return null;
  if (value === true) return "yes";
  if (value === false) return "no";
  return typeof value === "string" || typeof value === "number" ? String(value) : JSON.stringify(value);
}
