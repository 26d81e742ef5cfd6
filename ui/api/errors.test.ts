import { describe, expect, it } from "vitest";

import { ApiError } from "./errors";

describe("ApiError", () => {
  it.each([
    ["the invitation is unknown", "The invitation is unknown."],
    ["'lease.pdf' is there already: choose another name.", "'lease.pdf' is there already: choose another name."],
    ["was it sent twice?", "Was it sent twice?"],
  ])("says %j as a sentence", (detail, message) => {
    expect(new ApiError(409, { detail }, null).message).toBe(message);
  });

  it("names the status where the server says nothing", () => {
    expect(new ApiError(502, "<html>", null).message).toBe("The server answered 502.");
  });
});
