import { expect, it } from "vitest";

import { chunkingProblem } from "./chunking-problem";

it("takes what the server takes", () => {
  expect(chunkingProblem(512, 128)).toBeNull();
  expect(chunkingProblem(4, 3)).toBeNull();
  expect(chunkingProblem(8192, 0)).toBeNull();
});

it("names a size that the server would refuse, an emptied field too", () => {
  for (const size of [0, 3, 8193, 1.5, Number.NaN]) expect(chunkingProblem(size, 0)).toMatch(/4 to 8,192/);
});

it("names an overlap that leaves nothing new in a chunk", () => {
  for (const overlap of [32, 128, -1, Number.NaN]) expect(chunkingProblem(32, overlap)).toMatch(/smaller than/);
});
