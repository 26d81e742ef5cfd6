/** Queries of a form, and the SQL that they stand for. */

import * as z from "zod/mini";

import "@/lib/checks";

import type { Table } from "./queries";
import { isNumber, quoted } from "./table-words";

export const CALCULATIONS = [
  { calculation: "count", label: "Number of rows" },
  { calculation: "sum", label: "Sum" },
  { calculation: "avg", label: "Average" },
  { calculation: "min", label: "Smallest" },
  { calculation: "max", label: "Largest" },
  { calculation: "distinct", label: "Number of different values" },
] as const;

export const COMPARISONS = [
  { comparison: "=", label: "is" },
  { comparison: "<>", label: "is not" },
  { comparison: ">", label: "is greater than" },
  { comparison: ">=", label: "is at least" },
  { comparison: "<", label: "is less than" },
  { comparison: "<=", label: "is at most" },
  { comparison: "contains", label: "contains" },
  { comparison: "empty", label: "is empty" },
  { comparison: "filled", label: "is not empty" },
] as const;

type Calculation = (typeof CALCULATIONS)[number]["calculation"];
type Comparison = (typeof COMPARISONS)[number]["comparison"];
type Column = Pick<Table["columns"][number], "name" | "type">;

const NAMES_OF_CALCULATIONS: readonly Calculation[] = CALCULATIONS.map(({ calculation }) => calculation);
const NAMES_OF_COMPARISONS: readonly Comparison[] = COMPARISONS.map(({ comparison }) => comparison);
const MOST_PARTS = 20;

export interface StructuredQuery {
  /** Columns that are shown; all without any. They count only without groups and calculations. */
  columns: string[];
  groups: { column: string }[];
  calculations: { calculation: Calculation; column: string }[];
  filters: { column: string; comparison: Comparison; value: string }[];
  /** Name of a column of the result; "" keeps the order of the table. */
  order: string;
  direction: "ascending" | "descending";
}

export const EMPTY: StructuredQuery = { columns: [], groups: [], calculations: [], filters: [], order: "", direction: "descending" };

const SHAPE = z.object({
  columns: z.array(z.string()).check(z.maxLength(500)),
  groups: z.array(z.object({ column: z.string() })).check(z.maxLength(MOST_PARTS)),
  calculations: z.array(z.object({ calculation: z.enum(NAMES_OF_CALCULATIONS), column: z.string() })).check(z.maxLength(MOST_PARTS)),
  filters: z
    .array(z.object({ column: z.string(), comparison: z.enum(NAMES_OF_COMPARISONS), value: z.string() }))
    .check(z.maxLength(MOST_PARTS)),
  order: z.string(),
  direction: z.enum(["ascending", "descending"]),
});

/** The form's values for a table; a filter without a value that its column can hold is a problem at its field. */
export function schemaFor(columns: readonly Column[]) {
  return SHAPE.check((checked) => {
    const add = (path: (string | number)[], message: string) =>
      checked.issues.push({ code: "custom", message, path, input: checked.value });
    checked.value.filters.forEach(({ column, comparison, value }, at) => {
      const problem = problemOf(columns.find(({ name }) => name === column)?.type, comparison, value);
      if (problem !== null) add(["filters", at, "value"], problem);
    });
    checked.value.calculations.forEach(({ calculation, column }, at) => {
      const type = columns.find(({ name }) => name === column)?.type ?? "";
      if ((calculation === "sum" || calculation === "avg") && !isNumber(type)) {
        add(["calculations", at, "column"], "Choose a column of numbers.");
      }
    });
  });
}

function problemOf(type: string | undefined, comparison: Comparison, value: string): string | null {
  if (comparison === "empty" || comparison === "filled") return null;
  if (value.trim() === "") return "Enter a value.";
  if (comparison === "contains" || type === undefined) return null;
  if (isNumber(type)) return numberOf(value) === null ? "Enter a number, such as 1234.5." : null;
  if (type === "date") return /^\d{4}-\d\d-\d\d$/.test(value.trim()) ? null : "Enter a date, such as 2026-01-31.";
  if (type === "timestamp")
    return /^\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d)?)?$/.test(value.trim()) ? null : "Enter a time, such as 2026-01-31 14:30.";
  if (type === "boolean") return booleanOf(value) === null ? "Enter yes or no." : null;
  return null;
}

/** The query of an address, if it is one about these columns. */
export function readQuery(text: string, columns: readonly Column[]): StructuredQuery | null {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return null;
  }
  const read = schemaFor(columns).safeParse(json);
  if (!read.success) return null;
  const query: StructuredQuery = read.data;
  const named = [
    ...query.columns,
    ...[...query.groups, ...query.filters].map(({ column }) => column),
    ...query.calculations.filter(({ calculation }) => calculation !== "count").map(({ column }) => column),
  ];
  return named.every((name) => columns.some((column) => column.name === name)) ? query : null;
}

/** The names of the result's columns, which can order it. */
export function resultNames({ columns, groups, calculations }: StructuredQuery, all: readonly Column[]): string[] {
  if (groups.length === 0 && calculations.length === 0) return columns.length > 0 ? columns : all.map(({ name }) => name);
  return [...new Set([...groups.map(({ column }) => column), ...measuresOf({ groups, calculations }).map(nameOf)])];
}

export function toSql(query: StructuredQuery, columns: readonly Column[]): string {
  const { groups, filters, order, direction } = query;
  const groupNames = [...new Set(groups.map(({ column }) => column))].map(quoted);
  const measures = measuresOf(query);
  const shown = [...groupNames, ...new Set(measures.map((measure) => `${expressionOf(measure)} AS ${quoted(nameOf(measure))}`))];
  const chosen = query.columns.map(quoted).join(", ") || "*";
  const lines = [`SELECT ${shown.join(", ") || chosen}`, "FROM rows"];
  if (filters.length > 0) lines.push(`WHERE ${filters.map((filter) => conditionOf(filter, columns)).join("\n  AND ")}`);
  if (groupNames.length > 0) lines.push(`GROUP BY ${groupNames.join(", ")}`);
  if (resultNames(query, columns).includes(order)) {
    lines.push(`ORDER BY ${quoted(order)} ${direction === "descending" ? "DESC" : "ASC"} NULLS LAST`);
  }
  return lines.join("\n");
}

type Measure = StructuredQuery["calculations"][number];

/** Groups without a calculation are counted. */
function measuresOf({ groups, calculations }: Pick<StructuredQuery, "groups" | "calculations">): Measure[] {
  return groups.length > 0 && calculations.length === 0 ? [{ calculation: "count", column: "" }] : calculations;
}

function nameOf({ calculation, column }: Measure): string {
  switch (calculation) {
    case "count":
      return "number of rows";
    case "distinct":
      return `different values of ${column}`;
    case "avg":
      return `average of ${column}`;
    case "min":
      return `smallest ${column}`;
    case "max":
      return `largest ${column}`;
    case "sum":
      return `sum of ${column}`;
  }
}

function expressionOf({ calculation, column }: Measure): string {
  if (calculation === "count") return "count(*)";
  return calculation === "distinct" ? `count(DISTINCT ${quoted(column)})` : `${calculation}(${quoted(column)})`;
}

function conditionOf({ column, comparison, value }: StructuredQuery["filters"][number], columns: readonly Column[]): string {
  const name = quoted(column);
  switch (comparison) {
    case "empty":
      return `${name} IS NULL`;
    case "filled":
      return `${name} IS NOT NULL`;
    case "contains":
      return `contains(lower(CAST(${name} AS VARCHAR)), lower(${textLiteral(value.trim())}))`;
    default:
      return `${name} ${comparison} ${literalOf(value.trim(), columns.find((each) => each.name === column)?.type ?? "text")}`;
  }
}

function literalOf(value: string, type: string): string {
  if (isNumber(type)) return numberOf(value) ?? "NULL";
  if (type === "boolean") return String(booleanOf(value));
  if (type === "date") return `DATE ${textLiteral(value)}`;
  return type === "timestamp" ? `TIMESTAMP ${textLiteral(value)}` : textLiteral(value);
}

function textLiteral(text: string): string {
  return `'${text.replaceAll("\0", "").replaceAll("'", "''")}'`;
}

/** A number as SQL writes it: thousands may have commas or spaces. */
function numberOf(text: string): string | null {
  const bare = text.trim().replaceAll(/[,\s](?=\d{3}(\D|$))/g, "");
  return /^-?\d{1,30}(\.\d{1,30})?$/.test(bare) ? bare : null;
}

function booleanOf(text: string): boolean | null {
  const word = text.trim().toLowerCase();
  if (["yes", "true", "ja"].includes(word)) return true;
  return ["no", "false", "nein"].includes(word) ? false : null;
}
