/** Conversion of a kind's JSON schema to form fields, and of typed texts to values. Pure. */

export type JsonSchema = Readonly<Record<string, unknown>>;

export type FieldKind = "text" | "secret" | "number" | "boolean" | "choice" | "lines" | "pairs" | "json";

export interface SchemaField {
  name: string;
  label: string;
  hint: string | undefined;
  kind: FieldKind;
  /** For pairs: the values are secrets. */
  isHidden: boolean;
  isRequired: boolean;
  /** A text that is pasted with its lines, such as a key or a query. */
  isLong: boolean;
  /** For a number: no fraction. */
  isWhole: boolean;
  choices: readonly string[];
  default: unknown;
}

const LONG = "multiline";

const isObject = (value: unknown): value is JsonSchema => typeof value === "object" && value !== null && !Array.isArray(value);

const isMarked = (schema: JsonSchema) => schema["format"] === "password" || schema["writeOnly"] === true;

/** Return the fields of credentials: the marked ones are secret, or all if none is marked. */
export function secretFieldsOf(schema: JsonSchema): SchemaField[] {
  const fields = fieldsOf(schema);
  if (fields.some(({ kind, isHidden }) => kind === "secret" || isHidden)) return fields;
  return fields.map((field) => ({ ...field, kind: field.kind === "text" ? "secret" : field.kind, isHidden: true }));
}

/** Return the fields of an object's schema in its order. */
export function fieldsOf(schema: JsonSchema): SchemaField[] {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? (schema["required"] as unknown[]) : [];
  // What the source sets by itself is no input.
  const typed = Object.entries(properties).filter(([, declared]) => !isObject(declared) || declared["readOnly"] !== true);
  return typed.map(([name, declared]) => {
    const own = isObject(declared) ? declared : {};
    const resolved = resolve(own, schema);
    const kind = kindOf(resolved, schema);
    const description = own["description"] ?? resolved["description"];
    return {
      name,
      label: labelOf(name, own["title"]),
      hint: typeof description === "string" ? description : undefined,
      kind: kind === "text" && isMarked(resolved) ? "secret" : kind,
      isHidden: kind === "pairs" && isMarked(resolve(resolved["additionalProperties"] as JsonSchema, schema)),
      isRequired: required.includes(name),
      isLong: own["format"] === LONG || resolved["format"] === LONG,
      isWhole: resolved["type"] === "integer",
      choices: choicesOf(resolved),
      default: own["default"],
    };
  });
}

/** Return the label in sentence case: pydantic derives "Include Hidden" from include_hidden. Other titles stay. */
function labelOf(name: string, title: unknown): string {
  const words = name.replaceAll("_", " ");
  if (typeof title === "string" && title.toLowerCase() !== words.toLowerCase()) return title;
  const written = words.replace(/\b(url|id|api)(s?)\b/g, (_, word: string, end: string) => word.toUpperCase() + end);
  return written.slice(0, 1).toUpperCase() + written.slice(1);
}

/** Limit of nested references; stops at a schema that refers to itself. */
const MOST_REFERENCES = 10;

/** Follow references, and leave out the null of an optional value. */
function resolve(schema: JsonSchema, root: JsonSchema, left = MOST_REFERENCES): JsonSchema {
  if (left === 0) return {};
  const reference = schema["$ref"];
  if (typeof reference === "string") {
    const definitions = root["$defs"];
    const name = reference.replace("#/$defs/", "");
    const found = isObject(definitions) ? definitions[name] : undefined;
    return isObject(found) ? resolve(found, root, left - 1) : {};
  }
  for (const key of ["anyOf", "oneOf", "allOf"]) {
    const parts = schema[key];
    if (!Array.isArray(parts)) continue;
    const [only, ...others] = parts.filter((part): part is JsonSchema => isObject(part) && part["type"] !== "null");
    return only && others.length === 0 ? resolve(only, root, left - 1) : {};
  }
  return schema;
}

function kindOf(schema: JsonSchema, root: JsonSchema): FieldKind {
  if (choicesOf(schema).length > 0) return "choice";
  switch (schema["type"]) {
    case "string":
      return "text";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "array": {
      const items = isObject(schema["items"]) ? resolve(schema["items"], root) : {};
      return items["type"] === "string" ? "lines" : "json";
    }
    case "object": {
      const values = schema["additionalProperties"];
      return isObject(values) && !isObject(schema["properties"]) && resolve(values, root)["type"] === "string" ? "pairs" : "json";
    }
    default:
      return "json";
  }
}

function choicesOf(schema: JsonSchema): string[] {
  const values = Array.isArray(schema["enum"]) ? (schema["enum"] as unknown[]) : [];
  return values.every((value) => typeof value === "string") ? values : [];
}

/** Return the text of a stored value, or of the default. */
export function textOf(field: SchemaField, value: unknown): string {
  const shown = value === undefined ? field.default : value;
  if (shown === undefined || shown === null) return field.kind === "boolean" ? "false" : "";
  if (field.kind === "pairs" && isObject(shown)) return pairsText(Object.entries(shown).map(([key, value]) => [key, String(value)]));
  if (field.kind === "lines" && Array.isArray(shown)) return shown.join("\n");
  if (field.kind === "json" || typeof shown === "object") return JSON.stringify(shown, null, 2);
  return `${shown as string | number | boolean}`;
}

/** Rows of names and values while they are typed: names may be empty or repeated. */
export type PairList = readonly (readonly [string, string])[];

export function pairsText(pairs: PairList): string {
  return pairs.length === 0 ? "" : JSON.stringify(pairs);
}

export function pairsOf(text: string): PairList {
  return text === "" ? [] : (JSON.parse(text) as PairList);
}

export type Read = { value: unknown } | { problem: string } | "omitted";

/** Convert a field's text to its value; empty text is omitted, so that the default applies. */
export function readField(field: SchemaField, text: string): Read {
  if (field.kind === "boolean") return { value: text === "true" };
  // Emptied, a list that has a default is meant to be empty.
  if (field.kind === "lines" && linesOf(text).length === 0 && Array.isArray(field.default) && field.default.length > 0)
    return { value: [] };
  if (text.trim() === "") return field.isRequired ? { problem: `Enter a value for “${field.label}”.` } : "omitted";
  switch (field.kind) {
    case "number": {
      const value = Number(text);
      if (!Number.isFinite(value)) return { problem: "Enter a number." };
      return field.isWhole && !Number.isInteger(value) ? { problem: "Enter a whole number." } : { value };
    }
    case "lines":
      return { value: linesOf(text) };
    case "pairs": {
      const pairs = pairsOf(text).map(([key, value]) => [key.trim(), value] as const);
      if (pairs.some(([key]) => key === "")) return { problem: "Fill in each row, or remove it." };
      return new Set(pairs.map(([key]) => key)).size < pairs.length
        ? { problem: "Use each name once." }
        : { value: Object.fromEntries(pairs) };
    }
    case "json":
      try {
        return { value: JSON.parse(text) as unknown };
      } catch {
        return { problem: 'Enter valid JSON: texts in "quotes", lists in [brackets].' };
      }
    case "secret":
      return { value: text };
    default:
      return { value: text.trim() };
  }
}

/** Return the lines that have text. */
export function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** Convert all texts to values by name; return the problems of the others. */
export function readFields(fields: readonly SchemaField[], texts: Readonly<Record<string, string>>) {
  const values: Record<string, unknown> = {};
  const problems: { name: string; problem: string }[] = [];
  for (const field of fields) {
    const read = readField(field, texts[field.name] ?? "");
    if (read === "omitted") continue;
    if ("problem" in read) problems.push({ name: field.name, problem: read.problem });
    else values[field.name] = read.value;
  }
  return { values, problems };
}

export function textsOf(fields: readonly SchemaField[], values: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(fields.map((field) => [field.name, textOf(field, values[field.name])]));
}
