/** Values of metadata as they are typed and as the API takes them: decisions without React. */

export const VALUE_TYPES = ["string", "number", "boolean", "date", "json"] as const;
export type ValueType = (typeof VALUE_TYPES)[number];

export const TYPE_LABELS: Record<ValueType, string> = {
  string: "Text",
  number: "Number",
  boolean: "Yes or no",
  date: "Date",
  json: "JSON",
};

/** What kind of field shows the value: as it is declared, else as it is. */
export function typeOf(value: unknown, declared: ValueType | undefined): ValueType {
  const isScalar = typeof value !== "object" || value === null;
  if (declared !== undefined && isScalar) return declared;
  if (typeof value === "string") return "string";
  if (typeof value === "number") return "number";
  if (typeof value === "boolean") return "boolean";
  return "json";
}

export function typed(value: unknown, type: ValueType): string {
  if (value === undefined) return "";
  if (type === "json" || typeof value === "object") return JSON.stringify(value);
  if (type === "date" && typeof value === "string") return value.slice(0, 10);
  return `${value as string | number | boolean}`;
}

export type Read = { value: unknown } | { problem: string };

export function readValue(text: string, type: ValueType): Read {
  switch (type) {
    case "string":
      return { value: text };
    case "number": {
      const value = Number(text.trim());
      return text.trim() === "" || !Number.isFinite(value) ? { problem: "Enter a number." } : { value };
    }
    case "boolean":
      return text === "true" || text === "false" ? { value: text === "true" } : { problem: "Choose yes or no." };
    case "date":
      return /^\d{4}-\d{2}-\d{2}$/.test(text) ? { value: text } : { problem: "Choose a date." };
    case "json":
      try {
        return { value: JSON.parse(text) as unknown };
      } catch {
        return { problem: 'Enter valid JSON: texts in "quotes", lists in [brackets].' };
      }
  }
}

export interface FieldDraft {
  name: string;
  type: ValueType;
  text: string;
  /** As it was when the form was opened; a date that is not touched keeps its time. */
  before: string | null;
}

export interface MetadataValues {
  fields: FieldDraft[];
}

/** A new field with its declared type; one that was kept may have a value from before the declaration. */
export function asDeclared(draft: FieldDraft, declared: Readonly<Record<string, ValueType>>): FieldDraft {
  const type = draft.before === null ? declared[draft.name.trim()] : undefined;
  return type === undefined || type === draft.type ? draft : { ...draft, type };
}

export interface FieldProblem {
  /** The place of the field in the form. */
  at: number;
  part: "name" | "text";
  problem: string;
}

/** What has to be sent for the drafts: changed values, and null for keys that are gone. Empty where nothing changed. */
export function metadataChanges(
  present: Readonly<Record<string, unknown>>,
  drafts: readonly FieldDraft[],
): { changes: Record<string, unknown>; problems: FieldProblem[] } {
  const changes: Record<string, unknown> = {};
  const problems: FieldProblem[] = [];
  const names = new Set<string>();
  drafts.forEach((draft, at) => {
    const name = draft.name.trim();
    const nameProblem = name === "" ? "Enter a name." : names.has(name) ? "Another field has this name." : null;
    if (nameProblem !== null) problems.push({ at, part: "name", problem: nameProblem });
    names.add(name);
    if (draft.before === draft.text && name in present) return;
    const read = readValue(draft.text, draft.type);
    if ("value" in read) changes[name] = read.value;
    else if (nameProblem === null) problems.push({ at, part: "text", problem: read.problem });
  });
  for (const name of Object.keys(present)) if (!names.has(name)) changes[name] = null;
  return { changes, problems };
}
