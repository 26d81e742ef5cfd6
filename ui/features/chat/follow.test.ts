import { describe, expect, it } from "vitest";

import { readEvents } from "./follow";

describe("readEvents", () => {
  it("reads whole events and keeps what is not whole yet", () => {
    const { events, rest } = readEvents('id: 1\nevent: token\ndata: {"text": "Thirty: days"}\n\nevent: tok');
    expect(events).toEqual([{ id: "1", name: "token", data: { text: "Thirty: days" } }]);
    expect(rest).toBe("event: tok");
  });

  it("leaves signs of life out", () => {
    expect(readEvents(": still here\n\n").events).toEqual([]);
  });
});
