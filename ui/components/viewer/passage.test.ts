import { describe, expect, it } from "vitest";

import { partOnPage, readPassage } from "./passage";

describe("readPassage", () => {
  it("reads pages and characters", () => {
    expect(readPassage("3-4:1200-1450")).toEqual({ firstPage: 3, lastPage: 4, start: 1200, end: 1450 });
  });

  it.each([null, "", "3", "3-4", "4-3:1-2", "0-1:1-2", "1-1:5-5", "1-1:9-5", "a-b:c-d", "1-1:1-2 "])(
    "refuses %j",
    (text) => {
      expect(readPassage(text)).toBeNull();
    },
  );
});

describe("partOnPage", () => {
  const passage = { start: 90, end: 120 };

  it("splits a passage that runs over two pages", () => {
    expect(partOnPage(passage, { start: 0, end: 100, text: "x".repeat(100) })).toEqual([90, 100]);
    expect(partOnPage(passage, { start: 100, end: 300, text: "x".repeat(200) })).toEqual([0, 20]);
  });

  it("finds nothing on a page that it does not touch", () => {
    expect(partOnPage(passage, { start: 120, end: 300, text: "x".repeat(180) })).toBeNull();
  });

  it("counts characters as the API does, not units of UTF-16", () => {
    const text = "😀😀 ends here 😀";
    const part = partOnPage({ start: 3, end: 7 }, { start: 0, end: 14, text });
    expect(part && text.slice(...part)).toBe("ends");
  });
});
