/** Values of answers as people read and type them. */

import { isObject, type Json, type JsonObject } from "./answer-schema";

export interface Column {
  /** Of the answer; null: the answer is a text. */
  field: string | null;
  label: string;
}

/** A column for each field of the schema, in its order. */
export function columnsOf(schema: JsonObject | null): Column[] {
  if (schema === null) return [{ field: null, label: "Answer" }];
  const properties = isObject(schema.properties ?? null) ? (schema.properties as JsonObject) : {};
  return Object.keys(properties).map((field) => ({ field, label: field }));
}

export function valueAt(answer: unknown, { field }: Column): Json | undefined {
  if (field === null) return answer as Json;
  return isObject(answer) ? answer[field] : undefined;
}

/** In one line. */
export function shortly(value: Json | undefined): string {
  if (value === undefined || value === null) return "–";
  if (value === true) return "yes";
  if (value === false) return "no";
  if (typeof value === "object") {
    const isSimple = Array.isArray(value) && value.every((item) => typeof item !== "object");
    return isSimple ? value.map((item) => shortly(item)).join(", ") || "none" : JSON.stringify(value);
  }
  return String(value);
}

export type Input =
  { kind: "text" } | { kind: "number"; isWhole: boolean } | { kind: "choice"; choices: readonly Json[] } | { kind: "json" };

/** How a field is typed: plainly where its schema is plain, else as JSON. */
export function inputOf(schema: JsonObject | null, field: string | null): Input {
  if (field === null || schema === null) return { kind: "text" };
  const part = isObject(schema.properties ?? null) ? (schema.properties as JsonObject)[field] : undefined;
  if (!isObject(part)) return { kind: "json" };
  if (Array.isArray(part.enum)) return { kind: "choice", choices: part.enum };
  switch (part.type) {
    case "string":
      return { kind: "text" };
    case "number":
    case "integer":
      return { kind: "number", isWhole: part.type === "integer" };
    case "boolean":
      return { kind: "choice", choices: [true, false] };
    default:
      return { kind: "json" };
  }
}

/** What stands in the input at first; an absent value is empty. */
export function typed(value: Json | undefined, input: Input): string {
  if (value === undefined) return "";
  if (input.kind === "json" || input.kind === "choice") return JSON.stringify(value, null, 2);
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** What was typed, as a value; undefined: the field is left out; an error says what is wrong. */
export function read(text: string, input: Input, isAbsent: boolean): { value: Json | undefined } | { problem: string } {
  if (text.trim() === "" && (isAbsent || input.kind !== "text")) return { value: undefined };
  switch (input.kind) {
    case "text":
      return { value: text };
    case "number": {
      const value = Number(text);
      if (!Number.isFinite(value)) return { problem: "This is not a number." };
      return input.isWhole && !Number.isInteger(value) ? { problem: "This is not a whole number." } : { value };
    }
    default:
      try {
        return { value: JSON.parse(text) as Json };
      } catch {
        return { problem: 'This is not valid JSON. Put text in quotes, "like this"; for no value, enter null.' };
      }
  }
}
