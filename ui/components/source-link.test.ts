import { describe, expect, it } from "vitest";

import { hostOf } from "./source-link";

describe("hostOf", () => {
  it("names the host of a web address", () => {
    expect(hostOf("https://example.com:8080/a?b=1")).toBe("example.com:8080");
    expect(hostOf("http://example.com")).toBe("example.com");
  });

  it.each(["javascript:alert(1)", "data:text/html,x", "ftp://example.com", "example.com", "", null])("shows no link for %s", (address) => {
    expect(hostOf(address)).toBeNull();
  });
});
