import { describe, expect, it } from "vitest";

import { linkCitations, type MarkdownNode, safeAddress } from "./answer-markdown";

const text = (value: string, start: number): MarkdownNode => ({
  type: "text",
  value,
  position: { start: { offset: start }, end: { offset: start + value.length } },
});

function linked(answer: string, nodes: MarkdownNode[], marks: number[][]): MarkdownNode[] {
  const tree: MarkdownNode = { type: "root", children: [{ type: "paragraph", children: nodes }] };
  linkCitations(answer, [{ number: 1, marks }])()(tree);
  return tree.children?.[0]?.children ?? [];
}

describe("marks of citations", () => {
  it("become links, counted in characters as the API counts", () => {
    const answer = "🦭 keep it [1].";
    const pieces = linked(answer, [text(answer, 0)], [[10, 13]]);
    expect(pieces.map(({ type, value, url }) => [type, value ?? url])).toEqual([
      ["text", "🦭 keep it "],
      ["link", "citation:1"],
      ["text", "."],
    ]);
  });

  it("stay as they are in text with escapes, whose places are unknown", () => {
    const answer = "\\*a [1]";
    const node: MarkdownNode = { type: "text", value: "*a [1]", position: { start: { offset: 0 }, end: { offset: 7 } } };
    expect(linked(answer, [node], [[4, 7]])).toEqual([node]);
  });

  it("cannot be forged by an answer's own links", () => {
    const link: MarkdownNode = { type: "link", url: "citation:1", children: [] };
    expect(linked("[x](citation:1)", [link], [])[0]?.url).toBe("");
  });
});

describe("addresses in answers", () => {
  it.each([
    "javascript:alert(1)",
    "data:text/html,x",
    "/v0/orgs",
    "//evil.example",
    "file:///etc/passwd",
    "citation:x",
    " javascript:alert(1)",
  ])("%s is dropped", (address) => {
    expect(safeAddress(address)).toBe("");
  });

  it.each(["https://example.com/a", "HTTP://example.com", "mailto:a@example.com", "citation:12"])("%s stays", (address) => {
    expect(safeAddress(address)).toBe(address);
  });
});
