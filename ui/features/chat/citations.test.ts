import { expect, it } from "vitest";

import { splitAtCitations } from "./citations";

it("splits where the answer cites, and nowhere else", () => {
  const pieces = splitAtCitations("As [1] the list a[1] says [1].", [{ number: 1, marks: [[26, 29]] }]);
  expect(pieces.map(({ piece, citation }) => [piece, citation?.number])).toEqual([
    ["As [1] the list a[1] says ", undefined],
    ["[1]", 1],
    [".", undefined],
  ]);
});

it("counts characters as the API does", () => {
  const pieces = splitAtCitations("😀 yes [2]", [{ number: 2, marks: [[6, 9]] }]);
  expect(pieces.map(({ piece }) => piece)).toEqual(["😀 yes ", "[2]"]);
});

it("leads a mark of two passages to one of them", () => {
  const pieces = splitAtCitations("Both [1, 2].", [
    { number: 1, marks: [[5, 11]] },
    { number: 2, marks: [[5, 11]] },
  ]);
  expect(pieces.map(({ piece, citation }) => [piece, citation?.number])).toEqual([
    ["Both ", undefined],
    ["[1, 2]", 1],
    [".", undefined],
  ]);
});
