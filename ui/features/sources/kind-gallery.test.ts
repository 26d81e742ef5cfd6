import { expect, it } from "vitest";

import { groupsOf } from "./kind-gallery";

it("groups kinds, and shows those of other packages last", () => {
  const kinds = ["wiki", "web", "s3", "archive", "folder"].map((kind) => ({ kind, title: kind }));
  expect(groupsOf(kinds).map(({ title, kinds: found }) => [title, ...found.map(({ kind }) => kind)])).toEqual([
    ["Web sites and files", "web", "folder"],
    ["Buckets", "s3"],
    ["Others", "archive", "wiki"],
  ]);
  expect(groupsOf([])).toEqual([]);
});
