import { describe, expect, it } from "vitest";

import type { DocumentDetail } from "@/api/queries";

import { leftOutWords, readingOffered } from "./warnings";

type Flaw = DocumentDetail["flaws"][number];
const NOISE: Flaw = { kind: "noise", word_count: 9, page_count: 1 };
const MACHINE: Flaw = { kind: "machine_text", word_count: 9, page_count: 1 };

const offered = (flaws: Flaw[], readPages: DocumentDetail["read_pages"], more = {}) =>
  readingOffered({ content_type: "application/pdf", state: "extracted", flaws, read_pages: readPages, ...more });

describe("readingOffered", () => {
  it.each([
    [[NOISE], "auto", "ocr_flawed"],
    [[NOISE], "ocr_flawed", "ocr"],
    [[NOISE], "ocr", "auto"],
    [[], "ocr_flawed", "auto"],
    [[], "auto", null],
    [[MACHINE], "auto", null],
  ] as const)("offers for %o read by %s: %s", (flaws, readPages, wanted) => {
    expect(offered([...flaws], readPages)).toBe(wanted);
  });

  it("offers nothing for other files and while the text is extracted", () => {
    expect(offered([NOISE], "auto", { content_type: "text/plain" })).toBeNull();
    expect(offered([NOISE], "auto", { state: "uploaded" })).toBeNull();
  });
});

describe("leftOutWords", () => {
  const base = (words: number) => ({ skipped_word_count: words }) as DocumentDetail["knowledge_bases"][number];

  it("counts the words and names how many knowledge bases leave them out", () => {
    expect(leftOutWords({ knowledge_bases: [base(0)] })).toBeNull();
    expect(leftOutWords({ knowledge_bases: [base(1_200)] })).toBe("Your organization's settings leave 1,200 flawed words out of search.");
    expect(leftOutWords({ knowledge_bases: [base(7), base(0)] })).toContain("out of 1 of 2 knowledge bases");
  });
});
