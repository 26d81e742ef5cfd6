/** A kind's JSON schema as fields of a form, and the typed texts as values of the schema: decisions without React. */

export type JsonSchema = Readonly<Record<string, unknown>>;

export type FieldKind = "text" | "secret" | "number" | "boolean" | "choice" | "lines" | "json";

export interface SchemaField {
  name: string;
  label: string;
  hint: string | undefined;
  kind: FieldKind;
  isRequired: boolean;
  /** Of a number: no fraction. */
  isWhole: boolean;
  choices: readonly string[];
  default: unknown;
}

const isObject = (value: unknown): value is JsonSchema => typeof value === "object" && value !== null && !Array.isArray(value);

/** The fields of an object's schema in its order. With `areSecret` no text is shown as it is typed. */
export function fieldsOf(schema: JsonSchema, areSecret = false): SchemaField[] {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? (schema["required"] as unknown[]) : [];
  return Object.entries(properties).map(([name, declared]) => {
    const own = isObject(declared) ? declared : {};
    const resolved = resolve(own, schema);
    const kind = kindOf(resolved, schema);
    const description = own["description"] ?? resolved["description"];
    return {
      name,
      label: labelOf(name, own["title"]),
      hint: typeof description === "string" ? description : undefined,
      kind: kind === "text" && (areSecret || resolved["format"] === "password" || resolved["writeOnly"] === true) ? "secret" : kind,
      isRequired: required.includes(name),
      isWhole: resolved["type"] === "integer",
      choices: choicesOf(resolved),
      default: own["default"],
    };
  });
}

/** "Include Hidden" is what pydantic makes of include_hidden: written as a sentence; any other title is meant. */
function labelOf(name: string, title: unknown): string {
  const words = name.replaceAll("_", " ");
  if (typeof title === "string" && title.toLowerCase() !== words.toLowerCase()) return title;
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

/** More references than any schema needs: one that refers to itself ends here. */
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
    default:
      return "json";
  }
}

function choicesOf(schema: JsonSchema): string[] {
  const values = Array.isArray(schema["enum"]) ? (schema["enum"] as unknown[]) : [];
  return values.every((value) => typeof value === "string") ? values : [];
}

/** A stored value, or the default, as the form holds it. */
export function textOf(field: SchemaField, value: unknown): string {
  const shown = value === undefined ? field.default : value;
  if (shown === undefined || shown === null) return field.kind === "boolean" ? "false" : "";
  if (field.kind === "lines" && Array.isArray(shown)) return shown.join("\n");
  if (field.kind === "json" || typeof shown === "object") return JSON.stringify(shown, null, 2);
  return `${shown as string | number | boolean}`;
}

export type Read = { value: unknown } | { problem: string } | "omitted";

/** What a field's text stands for; an empty one is omitted, so that the default holds. */
export function readField(field: SchemaField, text: string): Read {
  if (field.kind === "boolean") return { value: text === "true" };
  if (text.trim() === "") return field.isRequired ? { problem: `Enter a value for “${field.label}”.` } : "omitted";
  switch (field.kind) {
    case "number": {
      const value = Number(text);
      if (!Number.isFinite(value)) return { problem: "Enter a number." };
      return field.isWhole && !Number.isInteger(value) ? { problem: "Enter a whole number." } : { value };
    }
    case "lines":
      return { value: linesOf(text) };
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

/** The lines that have text. */
export function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** All fields' values by name, with the problems of those that cannot be sent. */
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
