import { describe, expect, it } from "vitest";

import { fieldsOf, pairsText, readFields, secretFieldsOf, textsOf } from "./schema-fields";

/** As pydantic writes it. */
const SCHEMA = {
  $defs: { Depth: { enum: ["shallow", "deep"], type: "string" }, Login: { properties: { user: { type: "string" } }, type: "object" } },
  properties: {
    start_urls: { title: "Start Urls", type: "array", items: { type: "string" }, description: "Where it begins" },
    max_pages: { title: "Max Pages", type: "integer", default: 100 },
    delay: { anyOf: [{ type: "number" }, { type: "null" }], default: null, title: "Delay" },
    include_hidden: { title: "Include Hidden", type: "boolean", default: false },
    depth: { $ref: "#/$defs/Depth", default: "deep" },
    token: { title: "Access token", type: "string", format: "password", writeOnly: true },
    login: { anyOf: [{ $ref: "#/$defs/Login" }, { type: "null" }], default: null },
  },
  required: ["start_urls"],
  type: "object",
};
const FIELDS = fieldsOf(SCHEMA);

describe("a form made from a schema", () => {
  it("has a field for each property, of its kind, with a label as people write it", () => {
    expect(FIELDS.map(({ name, label, kind, isRequired }) => [name, label, kind, isRequired])).toEqual([
      ["start_urls", "Start URLs", "lines", true],
      ["max_pages", "Max pages", "number", false],
      ["delay", "Delay", "number", false],
      ["include_hidden", "Include hidden", "boolean", false],
      ["depth", "Depth", "choice", false],
      ["token", "Access token", "secret", false],
      ["login", "Login", "json", false],
    ]);
    expect(FIELDS[0]?.hint).toBe("Where it begins");
    expect(FIELDS[4]?.choices).toEqual(["shallow", "deep"]);
  });

  it("leaves out what the source sets, and keeps lines of keys and queries", () => {
    const properties = {
      expires_at: { anyOf: [{ type: "number" }, { type: "null" }], readOnly: true },
      key: { anyOf: [{ type: "string", format: "password", writeOnly: true }, { type: "null" }], format: "multiline" },
      query: { type: "string", format: "multiline" },
      user: { type: "string" },
    };
    expect(fieldsOf({ properties }).map(({ name, kind, isLong }) => [name, kind, isLong])).toEqual([
      ["key", "secret", true],
      ["query", "text", true],
      ["user", "text", false],
    ]);
  });

  it("hides the texts of credentials: the marked ones, or all", () => {
    const plain = { user: { type: "string" }, port: { type: "integer" } };
    expect(secretFieldsOf({ properties: plain }).map(({ kind }) => kind)).toEqual(["secret", "number"]);
    const marked = {
      ...plain,
      headers: { type: "object", additionalProperties: { type: "string", format: "password", writeOnly: true } },
      cookie: { anyOf: [{ type: "string", format: "password", writeOnly: true }, { type: "null" }] },
    };
    expect(secretFieldsOf({ properties: marked }).map(({ kind, isHidden }) => [kind, isHidden])).toEqual([
      ["text", false],
      ["number", false],
      ["pairs", true],
      ["secret", false],
    ]);
  });

  it("reads names with values, each name once", () => {
    const fields = fieldsOf({ properties: { headers: { type: "object", additionalProperties: { type: "string" } } } });
    const stored = { headers: { Authorization: "Bearer x", Accept: "text/html" } };
    expect(readFields(fields, textsOf(fields, stored)).values).toEqual(stored);
    const typed = (...pairs: [string, string][]) => readFields(fields, { headers: pairsText(pairs) });
    expect(typed(["A", "1"], ["A ", "2"]).problems).toEqual([{ name: "headers", problem: "Use each name once." }]);
    expect(typed(["", "1"]).problems).toEqual([{ name: "headers", problem: "Fill in each row, or remove it." }]);
    expect(typed()).toEqual({ values: {}, problems: [] });
  });

  it("empties a list that has a default", () => {
    const fields = fieldsOf({ properties: { drop: { type: "array", items: { type: "string" }, default: ["utm_*"] } } });
    expect(textsOf(fields, {})).toEqual({ drop: "utm_*" });
    expect(readFields(fields, { drop: " " }).values).toEqual({ drop: [] });
  });

  it("shows defaults, and gives back what was stored", () => {
    expect(textsOf(FIELDS, {})).toMatchObject({ start_urls: "", max_pages: "100", delay: "", include_hidden: "false", depth: "deep" });
    const stored = { start_urls: ["https://a.example", "https://b.example"], max_pages: 5, include_hidden: true, depth: "shallow" };
    expect(readFields(FIELDS, textsOf(FIELDS, stored))).toEqual({ values: stored, problems: [] });
  });

  it("names what is missing or unreadable, and omits what is empty", () => {
    const { values, problems } = readFields(FIELDS, { start_urls: " \n", max_pages: "1.5", delay: "x", login: "{", token: " padded " });
    expect(values).toEqual({ include_hidden: false, token: " padded " });
    expect(problems.map(({ name }) => name)).toEqual(["start_urls", "max_pages", "delay", "login"]);
  });

  it("survives schemas that it does not know", () => {
    expect(fieldsOf({})).toEqual([]);
    const odd = fieldsOf({ properties: { a: true, b: { $ref: "#/$defs/none" }, c: { oneOf: [{ type: "string" }, { type: "integer" }] } } });
    expect(odd.map(({ kind }) => kind)).toEqual(["json", "json", "json"]);
    const loop = { $defs: { Loop: { anyOf: [{ $ref: "#/$defs/Loop" }] } }, properties: { a: { $ref: "#/$defs/Loop" } } };
    expect(fieldsOf(loop).map(({ kind }) => kind)).toEqual(["json"]);
  });
});
