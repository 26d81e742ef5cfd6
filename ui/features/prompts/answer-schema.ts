/** A JSON schema as fields that a form can show, and back; what the form does not know is carried along untouched. */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export const KINDS = ["text", "number", "integer", "yes or no", "date", "choice", "group"] as const;
export type FieldKind = (typeof KINDS)[number];

export interface SchemaField {
  /** Tells fields apart while their names are being typed. */
  key: number;
  name: string;
  kind: FieldKind;
  isList: boolean;
  isRequired: boolean;
  /** A value, or each item of a list, may be null. */
  mayBeNull: boolean;
  description: string;
  choices: readonly string[];
  group: SchemaGroup | null;
  /** Keywords beyond these, of the value and of the list around it. */
  rest: JsonObject;
  listRest: JsonObject;
}

export interface SchemaGroup {
  fields: readonly SchemaField[];
  rest: JsonObject;
}

let lastKey = 0;

export function emptyGroup(): SchemaGroup {
  return { fields: [], rest: { additionalProperties: false } };
}

export function newField(): SchemaField {
  lastKey += 1;
  return {
    key: lastKey,
    name: "",
    kind: "text",
    isList: false,
    isRequired: true,
    mayBeNull: false,
    description: "",
    choices: [],
    group: null,
    rest: {},
    listRest: {},
  };
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Of what the form cannot show, the keyword. */
class NotShown extends Error {}

/** The fields of a schema, or the reason why the form cannot show it. */
export function readSchema(schema: JsonObject): { group: SchemaGroup } | { reason: string } {
  try {
    return { group: readGroup(schema) };
  } catch (error) {
    if (error instanceof NotShown) return { reason: error.message };
    throw error;
  }
}

function readGroup(schema: JsonObject): SchemaGroup {
  const { type, properties, required, ...rest } = schema;
  if (type !== "object") throw new NotShown('an answer that is not an object (“"type": "object"” is missing)');
  refuseUnshown(rest);
  if (properties !== undefined && !isObject(properties)) throw new NotShown("“properties” that are not an object");
  if (required !== undefined && !isTexts(required)) throw new NotShown("“required” that is not a list of names");
  const names = Object.keys(properties ?? {});
  if (required?.some((name) => !names.includes(name))) throw new NotShown("a required field that is not described");
  const fields = Object.entries(properties ?? {}).map(([name, part]) => {
    if (!isObject(part)) throw new NotShown(`a field “${name}” that is not an object`);
    return { ...readField(part), name, isRequired: required?.includes(name) ?? false };
  });
  return { fields, rest };
}

const UNSHOWN = [
  "$ref",
  "$dynamicRef",
  "$defs",
  "definitions",
  "oneOf",
  "anyOf",
  "allOf",
  "not",
  "if",
  "then",
  "else",
  "dependentSchemas",
  "prefixItems",
];

function refuseUnshown(rest: JsonObject): void {
  const found = UNSHOWN.find((keyword) => keyword in rest);
  if (found) throw new NotShown(`“${found}”`);
}

function isTexts(value: Json): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function readField(schema: JsonObject): SchemaField {
  if (schema.type !== "array") return { ...newField(), ...readValue(schema) };
  const { type: _, items, description, ...listRest } = schema;
  refuseUnshown(listRest);
  if (!isObject(items ?? null)) throw new NotShown("a list whose items are not described");
  const value = readValue(items as JsonObject);
  const { description: ofItems, ...inner } = value;
  const rest = ofItems === "" ? inner.rest : { ...inner.rest, description: ofItems };
  return { ...newField(), ...inner, rest, isList: true, listRest, description: readText(description) };
}

function readText(description: Json | undefined): string {
  if (description === undefined) return "";
  if (typeof description !== "string") throw new NotShown("a description that is not text");
  return description;
}

type Value = Pick<SchemaField, "kind" | "mayBeNull" | "description" | "choices" | "group" | "rest">;

function readValue(schema: JsonObject): Value {
  const { type, description, ...rest } = schema;
  refuseUnshown(rest);
  const types = Array.isArray(type) ? type : [type];
  const mayBeNull = Array.isArray(type) && type.includes("null");
  const named = types.filter((item) => item !== "null");
  if (named.length !== 1 || named[0] === undefined || (Array.isArray(type) && !mayBeNull))
    throw new NotShown("a field of several types, or of none");
  const common = { mayBeNull, description: readText(description), choices: [], group: null };
  switch (named[0]) {
    case "string":
      return { ...common, ...readString(rest, mayBeNull) };
    case "number":
    case "integer":
      return { ...common, kind: named[0], rest };
    case "boolean":
      return { ...common, kind: "yes or no", rest };
    case "object":
      return { ...common, kind: "group", group: readGroup({ ...rest, type: "object" }), rest: {} };
    default:
      throw new NotShown(`the type “${typeof named[0] === "string" ? named[0] : JSON.stringify(named[0])}” at this place`);
  }
}

function readString(schema: JsonObject, mayBeNull: boolean): Pick<Value, "kind" | "choices" | "rest"> {
  const { enum: choices, format, ...rest } = schema;
  if (choices !== undefined) {
    const isWhole = Array.isArray(choices) && (!mayBeNull || choices.at(-1) === null);
    const texts = Array.isArray(choices) && mayBeNull ? choices.slice(0, -1) : choices;
    if (!isWhole || !isTexts(texts)) throw new NotShown("choices that are not all text");
    return { kind: "choice", choices: texts, rest: format === undefined ? rest : { ...rest, format } };
  }
  if (format === "date") return { kind: "date", choices: [], rest };
  return { kind: "text", choices: [], rest: format === undefined ? rest : { ...rest, format } };
}

/** The schema that the fields describe. */
export function writeSchema(group: SchemaGroup): JsonObject {
  const required = group.fields.filter((field) => field.isRequired).map((field) => field.name.trim());
  return {
    type: "object",
    properties: Object.fromEntries(group.fields.map((field) => [field.name.trim(), writeField(field)])),
    ...(required.length > 0 && { required }),
    ...group.rest,
  };
}

function writeField(field: SchemaField): JsonObject {
  const value = writeValue(field);
  const description: JsonObject = field.description === "" ? {} : { description: field.description };
  return field.isList ? { type: "array", ...description, items: value, ...field.listRest } : { ...value, ...description };
}

function writeValue(field: SchemaField): JsonObject {
  const typed = (type: string): JsonObject => ({ type: field.mayBeNull ? [type, "null"] : type });
  switch (field.kind) {
    case "group":
      return { ...writeSchema(field.group ?? emptyGroup()), ...typed("object"), ...field.rest };
    case "choice":
      return { ...typed("string"), enum: field.mayBeNull ? [...field.choices, null] : [...field.choices], ...field.rest };
    case "date":
      return { ...typed("string"), format: "date", ...field.rest };
    case "text":
      return { ...typed("string"), ...field.rest };
    case "yes or no":
      return { ...typed("boolean"), ...field.rest };
    default:
      return { ...typed(field.kind), ...field.rest };
  }
}

/** By the key of a field: what has to be put right before there is a schema. */
export function problemsOf(group: SchemaGroup): Map<number, string> {
  const problems = new Map<number, string>();
  const seen = new Set<string>();
  for (const field of group.fields) {
    const name = field.name.trim();
    if (name === "") problems.set(field.key, "Enter a field name.");
    else if (seen.has(name)) problems.set(field.key, `Another field has the name “${name}”.`);
    else if (name === "__proto__") problems.set(field.key, "A field cannot have this name.");
    else if (field.kind === "choice" && field.choices.length === 0) problems.set(field.key, "Enter at least one choice.");
    else if (field.kind === "choice" && new Set(field.choices).size < field.choices.length)
      problems.set(field.key, "Each choice must be different.");
    else if (field.kind === "group" && (field.group?.fields.length ?? 0) === 0)
      problems.set(field.key, "A group needs at least one field.");
    seen.add(name);
    if (field.group) for (const [key, problem] of problemsOf(field.group)) problems.set(key, problem);
  }
  return problems;
}

/** By the key of a field: where the server finds it, such as `answer_schema.properties.lines.items.properties.sum`. */
export function placesOf(group: SchemaGroup, path: string): Map<number, string> {
  const places = new Map<number, string>();
  for (const field of group.fields) {
    const place = `${path}.properties.${field.name.trim()}`;
    places.set(field.key, place);
    if (field.group) for (const [key, inner] of placesOf(field.group, field.isList ? `${place}.items` : place)) places.set(key, inner);
  }
  return places;
}

/** Of the places, the innermost that a reported one lies in; null where it lies in none. */
export function fieldAt(places: ReadonlyMap<number, string>, reported: string): number | null {
  let found: [number, string] | null = null;
  for (const [key, place] of places) {
    const isWithin = reported === place || reported.startsWith(`${place}.`) || reported.startsWith(`${place}[`);
    if (isWithin && (found === null || place.length > found[1].length)) found = [key, place];
  }
  return found?.[0] ?? null;
}
