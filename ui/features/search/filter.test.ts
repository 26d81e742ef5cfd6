import { describe, expect, it } from "vitest";

import { DEFAULT, readConfiguration, searchBody, writeConfiguration } from "./configuration";
import { type FilterRow, filterProblem, literal, readFilter, toMetadataFilter } from "./filter";

describe("filters by form", () => {
  const rows: FilterRow[] = [
    { field: "document_name", operator: "$eq", value: "lease.pdf" },
    { field: "metadata.year", operator: "$gte", value: "2024" },
    { field: "metadata.code", operator: "$ne", value: '"007"' },
    { field: "tag", operator: "$in", value: "a, 2, true" },
    { field: "metadata.note", operator: "$exists", value: "false" },
  ];

  it("says nothing where no row is filled in", () => {
    expect(toMetadataFilter([{ field: "a", operator: "$eq", value: " " }])).toBeNull();
    expect(toMetadataFilter([])).toBeNull();
  });

  it("joins rows, and takes numbers, booleans and quoted text apart", () => {
    expect(toMetadataFilter(rows)).toEqual({
      $and: [
        { document_name: { $eq: "lease.pdf" } },
        { "metadata.year": { $gte: 2024 } },
        { "metadata.code": { $ne: "007" } },
        { tag: { $in: ["a", 2, true] } },
        { "metadata.note": { $exists: false } },
      ],
    });
  });

  it("reads back what it wrote", () => {
    expect(toMetadataFilter(readFilter(JSON.stringify(toMetadataFilter(rows))) ?? [])).toEqual(toMetadataFilter(rows));
  });

  it("leaves what a form cannot show to JSON", () => {
    for (const richer of ['{"$or": [{"a": 1}]}', '{"a": 1, "b": 2}', '{"a": {"$gt": 1, "$lt": 5}}', '{"a": {"$not": {"$eq": 1}}}']) {
      expect(readFilter(richer)).toBeNull();
    }
  });

  it("says why a text is no filter", () => {
    expect(filterProblem("")).toBeNull();
    expect(filterProblem('{"a": 1}')).toBeNull();
    expect(filterProblem("[1]")).toBe("A filter is a JSON object, in braces.");
    expect(filterProblem("{a")).not.toBeNull();
  });

  it("keeps numbers that JavaScript cannot hold as text", () => {
    expect(literal("12345678901234567890")).toBe("12345678901234567890");
  });
});

describe("configurations in the URL", () => {
  it("are read back as they were written", () => {
    const wanted = { ...DEFAULT, mode: "vector" as const, topK: 10, neighbours: 0, threshold: 0.5, rerank: true, hyde: true };
    expect(readConfiguration(writeConfiguration(wanted))).toEqual(wanted);
    expect(writeConfiguration(DEFAULT)).toBe("hybrid");
  });

  it("fall back where a value is wrong", () => {
    expect(readConfiguration("nonsense,k=100000,alpha=x,n=9,min=-1,fusion=best")).toEqual(DEFAULT);
  });

  it("send only what their mode knows", () => {
    expect(searchBody("q", { ...DEFAULT, mode: "vector" }, "")).not.toHaveProperty("alpha");
    expect(searchBody("q", DEFAULT, '{"$or": [{"a": 1}]}').metadata_filter).toEqual({ $or: [{ a: 1 }] });
  });
});
