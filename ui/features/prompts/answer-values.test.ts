import { expect, test } from "vitest";

import type { JsonObject } from "./answer-schema";
import { columnsOf, inputOf, read, shortly, typed, valueAt } from "./answer-values";

const SCHEMA: JsonObject = {
  type: "object",
  properties: {
    due: { type: "string" },
    total: { type: "number" },
    pieces: { type: "integer" },
    paid: { type: "boolean" },
    currency: { type: "string", enum: ["EUR", "USD"] },
    note: { type: ["string", "null"] },
    lines: { type: "array", items: { type: "string" } },
  },
};

test("columns are the schema's fields in their order, or the whole answer where it is a text", () => {
  expect(columnsOf(SCHEMA).map(({ label }) => label)).toEqual(["due", "total", "pieces", "paid", "currency", "note", "lines"]);
  expect(columnsOf(null)).toEqual([{ field: null, label: "Answer" }]);
  expect(valueAt({ due: "May" }, { field: "due", label: "due" })).toBe("May");
  expect(valueAt("Whole", { field: null, label: "Answer" })).toBe("Whole");
  expect(valueAt("no object", { field: "due", label: "due" })).toBeUndefined();
});

test("values are read in one line", () => {
  expect([true, false, null, undefined, 12.5, "x", ["a", 2], [], { a: 1 }].map((value) => shortly(value))).toEqual([
    "yes",
    "no",
    "–",
    "–",
    "12.5",
    "x",
    "a, 2",
    "none",
    '{"a":1}',
  ]);
});

test.each([
  ["due", "2 May", "2 May"],
  ["due", "12", "12"],
  ["total", "12.5", 12.5],
  ["pieces", "3", 3],
  ["paid", "true", true],
  ["currency", '"EUR"', "EUR"],
  ["note", "null", null],
  ["note", '"seen"', "seen"],
  ["lines", '["a"]', ["a"]],
])("%s is typed as %s", (field, text, value) => {
  const input = inputOf(SCHEMA, field);
  expect(read(text, input, false)).toEqual({ value });
  expect(read(typed(value, input), input, false)).toEqual({ value });
});

test("what cannot be read says why, and what was absent stays absent", () => {
  expect(read("twelve", inputOf(SCHEMA, "total"), false)).toHaveProperty("problem");
  expect(read("1.5", inputOf(SCHEMA, "pieces"), false)).toHaveProperty("problem");
  expect(read("seen", inputOf(SCHEMA, "note"), false)).toHaveProperty("problem");
  expect(read("", inputOf(SCHEMA, "due"), true)).toEqual({ value: undefined });
  expect(read("", inputOf(SCHEMA, "due"), false)).toEqual({ value: "" });
  expect(read("", inputOf(SCHEMA, "total"), false)).toEqual({ value: undefined });
});
