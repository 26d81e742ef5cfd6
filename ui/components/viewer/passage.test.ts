import { describe, expect, it } from "vitest";

import { escapeHtml, partOnPage, passageHref, passageOf, placeInPieces, readPassage } from "./passage";

describe("readPassage", () => {
  it("reads pages and characters", () => {
    expect(readPassage("3-4:1200-1450")).toEqual({ firstPage: 3, lastPage: 4, start: 1200, end: 1450 });
  });

  it.each([null, "", "3", "3-4", "4-3:1-2", "0-1:1-2", "1-1:5-5", "1-1:9-5", "a-b:c-d", "1-1:1-2 "])("refuses %j", (text) => {
    expect(readPassage(text)).toBeNull();
  });
});

describe("passageHref", () => {
  it("is read back by the viewer", () => {
    const passage = passageOf({ first_page: 3, last_page: 4, start: 1200, end: 1450 });
    const query = new URL(passageHref("abc", passage), "http://localhost").searchParams;
    expect([query.get("id"), query.get("page")]).toEqual(["abc", "3"]);
    expect(readPassage(query.get("hl"))).toEqual(passage);
  });
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

describe("placeInPieces", () => {
  const marked = (pieces: string[], wanted: string) =>
    [...(placeInPieces(pieces, wanted) ?? [])].map(([index, { from, to }]) => pieces[index]?.slice(from, to));

  it("marks parts of the pieces that a passage runs over", () => {
    expect(marked(["12.2 Either party", " may end this", " agreement."], "party may end")).toEqual(["party", " may end".trimStart()]);
  });

  it("finds a passage whose line breaks and spaces differ from the page's", () => {
    expect(marked(["Either", "party", "may"], "Either\n  party may")).toEqual(["Either", "party", "may"]);
  });

  it("takes ligatures for their letters and leaves soft hyphens out", () => {
    expect(marked(["the o\ufb03ce", "agree\u00adment"], "office agreement")).toEqual(["o\ufb03ce", "agree\u00adment"]);
  });

  it("keeps its place after characters outside the basic plane", () => {
    expect(marked(["𝒜 word here"], "word")).toEqual(["word"]);
  });

  it("says when the passage is not on the page", () => {
    expect(placeInPieces(["something else"], "Either party")).toBeNull();
    expect(placeInPieces(["anything"], "  \n ")).toBeNull();
  });
});

it("escapes what a page's text could smuggle in", () => {
  expect(escapeHtml(`<img src=x onerror="a('b')">&`)).toBe("&lt;img src=x onerror=&quot;a(&#39;b&#39;)&quot;&gt;&amp;");
});
