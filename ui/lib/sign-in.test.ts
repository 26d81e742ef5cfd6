import { expect, it } from "vitest";

import { ownPath, readPasted } from "./sign-in";

it.each([
  ["/documents/?q=a", "/documents/?q=a"],
  ["//evil.example/", "/documents/"],
  ["/\\evil.example", "/documents/"],
  ["https://evil.example", "/documents/"],
  ["javascript:alert(1)", "/documents/"],
  ["/a\n/b", "/documents/"],
  [null, "/documents/"],
])("goes on to %j only if it is a path of ours", (next, path) => {
  expect(ownPath(next)).toBe(path);
});

it("reads connection.json, and takes anything else for the token", () => {
  expect(readPasted('{"url": "http://x", "organization_id": "o", "token": "t"}')).toEqual({ organizationId: "o", token: "t" });
  expect(readPasted(" aq_1 ")).toEqual({ token: "aq_1" });
});
