import { describe, expect, test } from "vitest";

import {
  emptyGroup,
  fieldAt,
  type JsonObject,
  newField,
  placesOf,
  problemsOf,
  readSchema,
  type SchemaGroup,
  writeSchema,
} from "./answer-schema";

function read(schema: JsonObject): SchemaGroup {
  const found = readSchema(schema);
  if ("reason" in found) throw new Error(found.reason);
  return found.group;
}

const INVOICE: JsonObject = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  description: "Of an invoice",
  properties: {
    number: { type: "string", pattern: "^[0-9]+$", description: "As printed" },
    due: { type: ["string", "null"], format: "date" },
    sent_at: { type: "string", format: "date-time" },
    total: { type: "number", minimum: 0 },
    pieces: { type: "integer" },
    is_paid: { type: ["boolean", "null"] },
    currency: { type: "string", enum: ["EUR", "USD"] },
    state: { type: ["string", "null"], enum: ["open", null] },
    parties: { type: "array", items: { type: "string", description: "A name" }, description: "All of them", minItems: 1 },
    lines: {
      type: "array",
      items: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"], additionalProperties: false },
    },
    seller: { type: ["object", "null"], description: "Who sells", properties: { name: { type: "string" } } },
  },
  required: ["number", "total"],
  additionalProperties: false,
};

describe("the fields of a schema", () => {
  test("a schema comes back as it was, with the keywords that the form does not show", () => {
    expect(writeSchema(read(INVOICE))).toEqual(INVOICE);
  });

  test("the order of the fields stays", () => {
    expect(Object.keys(writeSchema(read(INVOICE)).properties as JsonObject)).toEqual(Object.keys(INVOICE.properties as JsonObject));
  });

  test("what the form shows is what the schema says", () => {
    const byName = new Map(read(INVOICE).fields.map((field) => [field.name, field]));
    expect(byName.get("due")).toMatchObject({ kind: "date", mayBeNull: true, isRequired: false });
    expect(byName.get("state")).toMatchObject({ kind: "choice", choices: ["open"], mayBeNull: true });
    expect(byName.get("parties")).toMatchObject({ kind: "text", isList: true, description: "All of them" });
    expect(byName.get("lines")?.group?.fields[0]).toMatchObject({ name: "sum", kind: "number", isRequired: true });
  });

  test.each([
    [{ type: "array" }, "not an object"],
    [{ type: "object", $defs: {} }, "$defs"],
    [{ type: "object", properties: { a: { $ref: "#" } } }, "$ref"],
    [{ type: "object", properties: { a: { type: ["string", "number"] } } }, "several types"],
    [{ type: "object", properties: { a: {} } }, "several types, or of none"],
    [{ type: "object", properties: { a: { type: "array" } } }, "items"],
    [{ type: "object", properties: { a: { type: "array", items: { type: "array" } } } }, "array"],
    [{ type: "object", properties: { a: { type: "string", enum: [1] } } }, "not all text"],
    [{ type: "object", required: ["b"] }, "not described"],
    [{ type: "object", properties: { a: { type: "string", description: 3 } } }, "description"],
  ] as [JsonObject, string][])("a schema that the form cannot show says why: %j", (schema, words) => {
    expect(readSchema(schema)).toEqual({ reason: expect.stringContaining(words) as string });
  });
});

describe("what is wrong with fields", () => {
  test("a nameless field, a name used twice, a choice of nothing and an empty group are told of", () => {
    const fields = [
      newField(),
      { ...newField(), name: "a" },
      { ...newField(), name: "a " },
      { ...newField(), name: "c", kind: "choice" as const },
      { ...newField(), name: "g", kind: "group" as const, group: { ...emptyGroup(), fields: [newField()] } },
      { ...newField(), name: "h", kind: "group" as const, group: emptyGroup() },
    ];
    const problems = problemsOf({ ...emptyGroup(), fields });
    const told = [fields[0], fields[2], fields[3], fields[4]?.group?.fields[0], fields[5]].map((field) => field?.key);
    expect([...problems.keys()].sort()).toEqual(told.sort());
  });

  test("the server's place is found at the innermost field", () => {
    const group = read(INVOICE);
    const places = placesOf(group, "answer_schema");
    const lines = group.fields.find((field) => field.name === "lines");
    expect(fieldAt(places, "answer_schema.properties.lines.items.properties.sum.pattern")).toBe(lines?.group?.fields[0]?.key);
    expect(fieldAt(places, "answer_schema.properties.lines.minItems")).toBe(lines?.key);
    expect(fieldAt(places, "answer_schema.properties.lines2")).toBeNull();
    expect(fieldAt(places, "answer_schema.type")).toBeNull();
  });
});
