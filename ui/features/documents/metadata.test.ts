import { describe, expect, it } from "vitest";

import { asDeclared, type FieldDraft, metadataChanges, readValue, typed, typeOf } from "./metadata";

const draft = (name: string, type: FieldDraft["type"], text: string, before: string | null = null): FieldDraft => ({
  name,
  type,
  text,
  before,
});

describe("typeOf", () => {
  it("is the declared one for single values, and JSON for lists", () => {
    expect(typeOf("2024-01-01", "date")).toBe("date");
    expect(typeOf(["a"], "string")).toBe("json");
    expect(typeOf(true, undefined)).toBe("boolean");
    expect(typeOf(null, undefined)).toBe("json");
  });
});

describe("asDeclared", () => {
  it("gives a new field its type also when the declarations come after its name", () => {
    expect(asDeclared(draft(" amount", "string", ""), { amount: "number" }).type).toBe("number");
    expect(asDeclared(draft("other", "string", "x"), { amount: "number" })).toEqual(draft("other", "string", "x"));
    expect(asDeclared(draft("amount", "string", "many", "many"), { amount: "number" }).type).toBe("string");
  });
});

describe("readValue", () => {
  it("takes what the type allows and says what is wrong otherwise", () => {
    expect(readValue(" 12.5 ", "number")).toEqual({ value: 12.5 });
    expect(readValue("", "number")).toHaveProperty("problem");
    expect(readValue("[1, 2]", "json")).toEqual({ value: [1, 2] });
    expect(readValue("soon", "date")).toHaveProperty("problem");
    expect(readValue("true", "boolean")).toEqual({ value: true });
  });
});

describe("metadataChanges", () => {
  const present = { year: 2023, due: "2026-03-01T09:30:00.000Z", draft: true };
  const untouched = [draft("year", "number", "2023", "2023"), draft("due", "date", "2026-03-01", "2026-03-01")];

  it("sends what changed, null for what is gone, and leaves the time of an untouched date alone", () => {
    const drafts = [draft("year", "number", "2024", "2023"), untouched[1] as FieldDraft, draft("customer", "string", "Acme")];
    expect(metadataChanges(present, drafts)).toEqual({ changes: { year: 2024, customer: "Acme", draft: null }, problems: [] });
  });

  it("names the rows that cannot be kept", () => {
    const { problems } = metadataChanges({}, [draft("", "string", "x"), draft("a", "number", "x"), draft("a", "string", "x")]);
    expect(problems.map(({ at, part }) => [at, part])).toEqual([
      [0, "name"],
      [1, "text"],
      [2, "name"],
    ]);
  });

  it("shows a date by its day", () => {
    expect(typed(present.due, "date")).toBe("2026-03-01");
  });
});
