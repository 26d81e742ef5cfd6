import { expect, it } from "vitest";

import { metadataKeys } from "./searched-metadata";

it("reads keys separated by commas, each once", () => {
  expect(metadataKeys(" customer, contract number ,,customer")).toEqual(["customer", "contract number"]);
  expect(metadataKeys(" , ")).toEqual([]);
  expect(metadataKeys(Array.from({ length: 12 }, (_, number) => `k${number}`).join())).toHaveLength(10);
});
