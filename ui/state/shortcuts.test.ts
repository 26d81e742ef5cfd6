import { expect, it } from "vitest";

import { keyName } from "./shortcuts";

it("names keys as the list of shortcuts does", () => {
  expect([" ", "j", "N"].map((key) => keyName({ key }))).toEqual(["Space", "j", "N"]);
});
