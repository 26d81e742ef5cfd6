/** Filters of a form: rows that must all hold. Richer filters are written as JSON. */

export const OPERATORS = [
  { operator: "$eq", label: "is" },
  { operator: "$ne", label: "is not" },
  { operator: "$gt", label: "is greater than" },
  { operator: "$gte", label: "is at least" },
  { operator: "$lt", label: "is less than" },
  { operator: "$lte", label: "is at most" },
  { operator: "$in", label: "is one of" },
  { operator: "$nin", label: "is none of" },
  { operator: "$exists", label: "is set" },
] as const;

export type Operator = (typeof OPERATORS)[number]["operator"];
export const NAMES_OF_OPERATORS: readonly Operator[] = OPERATORS.map(({ operator }) => operator);

export interface FilterRow {
  field: string;
  operator: Operator;
  /** As typed: of several values, with commas between them. */
  value: string;
}

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type MetadataFilter = Record<string, Json>;

/** 2024 is a number and true a boolean; in quotes both are text. */
export function literal(typed: string): string | number | boolean {
  const text = typed.trim();
  if (/^"[^]*"$/.test(text) && text.length >= 2) return text.slice(1, -1);
  if (text === "true" || text === "false") return text === "true";
  return /^-?\d+(\.\d+)?$/.test(text) && Math.abs(Number(text)) <= Number.MAX_SAFE_INTEGER ? Number(text) : text;
}

function typed(value: Json): string | null {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value !== "string") return null;
  return literal(value) === value && !value.includes(",") ? value : `"${value}"`;
}

function isOperator(text: string): text is Operator {
  return OPERATORS.some(({ operator }) => operator === text);
}

function conditionOf(row: FilterRow): Json {
  switch (row.operator) {
    case "$exists":
      return { $exists: row.value.trim() !== "false" };
    case "$in":
    case "$nin":
      return {
        [row.operator]: row.value
          .split(",")
          .filter((part) => part.trim() !== "")
          .map(literal),
      };
    default:
      return { [row.operator]: literal(row.value) };
  }
}

/** As the API takes it; null where no row says anything. */
export function toMetadataFilter(rows: readonly FilterRow[]): MetadataFilter | null {
  const clauses = rows
    .filter((row) => row.field.trim() !== "" && (row.value.trim() !== "" || row.operator === "$exists"))
    .map((row): MetadataFilter => ({ [row.field.trim()]: conditionOf(row) }));
  if (clauses.length === 0) return null;
  return clauses.length === 1 ? (clauses[0] ?? null) : { $and: clauses };
}

function readClause(clause: Json): FilterRow | null {
  if (typeof clause !== "object" || clause === null || Array.isArray(clause)) return null;
  const [entry, ...others] = Object.entries(clause);
  if (!entry || others.length > 0 || entry[0].startsWith("$")) return null;
  const [field, condition] = entry;
  const plain = typeof condition === "object" ? null : typed(condition);
  if (plain !== null) return { field, operator: "$eq", value: plain };
  if (typeof condition !== "object" || condition === null || Array.isArray(condition)) return null;
  const [operation, ...more] = Object.entries(condition);
  if (!operation || more.length > 0 || !isOperator(operation[0])) return null;
  const [operator, value] = operation;
  if (Array.isArray(value)) {
    const values = value.map(typed);
    return values.includes(null) ? null : { field, operator, value: values.join(", ") };
  }
  const text = typed(value);
  return text === null ? null : { field, operator, value: text };
}

/** The rows of a filter; null where a form cannot show it. Empty text is no rows. Throws on text that is no JSON. */
export function readFilter(text: string): FilterRow[] | null {
  if (text.trim() === "") return [];
  const parsed = JSON.parse(text) as Json;
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) return null;
  const clauses = Array.isArray(parsed.$and) && Object.keys(parsed).length === 1 ? parsed.$and : [parsed];
  const rows = clauses.map(readClause);
  return rows.includes(null) ? null : (rows as FilterRow[]);
}

/** Why a text is no filter, or null. */
export function filterProblem(text: string): string | null {
  if (text.trim() === "") return null;
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null && !Array.isArray(parsed) ? null : "A filter is a JSON object, in braces.";
  } catch (error) {
    return `This is not valid JSON: ${error instanceof Error ? error.message : "it cannot be read"}.`;
  }
}
