import { describe, expect, it } from "vitest";

import { conditionsOf, type DocumentFilter } from "./queries";

const filter = (changes: Partial<DocumentFilter> = {}): DocumentFilter => ({
  nameSearch: "",
  states: [],
  fileTypes: [],
  tagIds: [],
  tagOperator: "all",
  kbId: null,
  errorCode: null,
  from: "",
  to: "",
  ...changes,
});

describe("conditionsOf", () => {
  it("is nothing where the list's own parameters say everything", () => {
    expect(conditionsOf(filter({ nameSearch: "a", tagIds: ["t"] }))).toBeNull();
    expect(conditionsOf(filter({ tagOperator: "none" }))).toBeNull();
  });

  it("asks for any tag, or for none of them", () => {
    expect(conditionsOf(filter({ tagIds: ["t", "u"], tagOperator: "any" }))).toEqual({ tag_ids: { $in: ["t", "u"] } });
    expect(conditionsOf(filter({ tagIds: ["t"], tagOperator: "none" }))).toEqual({ tag_ids: { $nin: ["t"] } });
  });

  it("takes the last day in, over a change of clocks too", () => {
    const conditions = conditionsOf(filter({ from: "2026-03-29", to: "2026-03-29" }));
    const { $gte: since, $lt: until } = conditions?.upload_date as { $gte: string; $lt: string };
    expect(new Date(since).toLocaleDateString("sv-SE")).toBe("2026-03-29");
    expect(new Date(until).toLocaleDateString("sv-SE")).toBe("2026-03-30");
    expect(new Date(until).getHours()).toBe(0);
  });
});
