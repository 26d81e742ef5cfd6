import { expect, test } from "vitest";

import { includes } from "./permissions";

test("each permission includes those before it and none after it", () => {
  expect(includes("owner", "read")).toBe(true);
  expect(includes("admin", "admin")).toBe(true);
  expect(includes("write", "admin")).toBe(false);
  expect(includes("read", "write")).toBe(false);
});
