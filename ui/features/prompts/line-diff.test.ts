import { expect, test } from "vitest";

import { diffLines, partsOf } from "./line-diff";

const SIGN = { same: " ", added: "+", removed: "-" };
const shown = (before: string, after: string) => diffLines(before, after).map(({ kind, text }) => SIGN[kind] + text);

test("a changed line is removed and added in its place", () => {
  expect(shown("a\nb\nc", "a\nB\nc")).toEqual([" a", "-b", "+B", " c"]);
});

test("the same text has no changes", () => {
  expect(shown("a\n\nb", "a\n\nb")).toEqual([" a", " ", " b"]);
});

test("lines that moved apart keep what they have in common", () => {
  expect(shown("a\nx\nb\ny\nc", "b\nz\nc\nx")).toEqual(["-a", "-x", " b", "-y", "+z", " c", "+x"]);
});

test("both texts can be read back from the comparison", () => {
  const before = "one\ntwo\n\nthree\ntwo";
  const after = "two\nthree\none\n\ntwo\ntwo";
  const lines = diffLines(before, after);
  const without = (kind: string) =>
    lines
      .filter((line) => line.kind !== kind)
      .map(({ text }) => text)
      .join("\n");
  expect(without("added")).toBe(before);
  expect(without("removed")).toBe(after);
});

test("two long texts without a common line are told whole, at once", () => {
  const many = (word: string) => Array.from({ length: 3_000 }, (_, line) => `${word} ${line}`).join("\n");
  expect(diffLines(many("old"), many("new"))).toHaveLength(6_000);
});

test("lines far from a change are counted, not shown", () => {
  const before = Array.from({ length: 20 }, (_, line) => String(line)).join("\n");
  const { parts, hiddenAtEnd } = partsOf(diffLines(before, before.replace("10", "ten")), 2);
  expect(parts).toHaveLength(1);
  expect(parts[0]?.hidden).toBe(8);
  expect(parts[0]?.lines.map(({ text }) => text)).toEqual(["8", "9", "10", "ten", "11", "12"]);
  expect(hiddenAtEnd).toBe(7);
});
