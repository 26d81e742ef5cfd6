import { describe, expect, it } from "vitest";

import { holdRows, holdsAnew } from "./held-rows";

interface Row {
  id: string;
  state: string;
}
const idOf = (row: Row) => row.id;
const row = (id: string, state = "ready"): Row => ({ id, state });

describe("held rows", () => {
  const seen = new Map([row("a", "extracting"), row("b")].map((item) => [item.id, item]));

  it("change in place and keep their order", () => {
    expect(holdRows(["a", "b"], [row("b"), row("a", "ready")], seen, idOf).rows).toEqual([row("a", "ready"), row("b")]);
  });

  it("are not pushed down by new ones, which are counted", () => {
    const held = holdRows(["a", "b"], [row("new"), row("a"), row("b")], seen, idOf);
    expect(held.rows.map(idOf)).toEqual(["a", "b"]);
    expect(held.newCount).toBe(1);
  });

  it("stay as they were seen when they leave the page", () => {
    const held = holdRows(["a", "b"], [row("b")], seen, idOf);
    expect(held.rows).toEqual([row("a", "extracting"), row("b")]);
    expect(held.missingIds).toEqual(["a"]);
  });
});

describe("rows are held anew", () => {
  const hold = { key: "page 1", ids: ["a"], isReleased: false };

  it("at first and for another page", () => {
    expect(holdsAnew(null, "page 1", true)).toBe(true);
    expect(holdsAnew(hold, "page 2", false)).toBe(true);
  });

  it("when they were released, but not before the server sends others", () => {
    expect(holdsAnew({ ...hold, isReleased: true }, "page 1", false)).toBe(false);
    expect(holdsAnew({ ...hold, isReleased: true }, "page 1", true)).toBe(true);
  });

  it("when there were none, so that a first upload shows", () => {
    expect(holdsAnew({ ...hold, ids: [] }, "page 1", true)).toBe(true);
  });

  it("not when others only appear", () => {
    expect(holdsAnew(hold, "page 1", true)).toBe(false);
  });
});
