import { describe, expect, it } from "vitest";

import { costs, formatDollars } from "./costs";
import { quotaEnd } from "./quota-forecast";

const call = (model: string, kb: string | null, dollars: number, unpriced = 0) => ({
  day: "2026-03-01",
  operation: "chat",
  model,
  kb_id: kb,
  calls: 2,
  prompt_tokens: 100,
  completion_tokens: 10,
  cost_usd: dollars,
  unpriced_calls: unpriced,
});

describe("cost of model calls", () => {
  const items = [call("small", "a", 0.01), call("large", "a", 0.5), call("small", null, 0.02, 1)];

  it("adds up by model, dearest first, with the calls that have no price", () => {
    expect(costs(items, "model").map(({ id, calls, dollars, unpricedCalls }) => [id, calls, dollars, unpricedCalls])).toEqual([
      ["large", 2, 0.5, 0],
      ["small", 4, 0.03, 1],
    ]);
  });

  it("keeps calls without a knowledge base apart", () => {
    expect(costs(items, "kb").map(({ id }) => id)).toEqual(["a", ""]);
  });

  it("shows a cost that is not zero as not zero", () => {
    expect(formatDollars(0.00001)).toBe("under US$0.0001");
    expect(formatDollars(0.0042)).toBe("US$0.0042");
    expect(formatDollars(0)).toBe("US$0.00");
  });
});

describe("end of a quota", () => {
  const now = Date.parse("2026-03-10T12:00:00Z");

  it("comes at the pace of whole days, without the one that is not over", () => {
    expect(quotaEnd(500, [100, 100, 1], now)).toBe("2026-03-15");
  });

  it("does not count days before the first charge", () => {
    expect(quotaEnd(500, [0, 0, 0, 100, 0], now)).toBe("2026-03-15");
  });

  it("is not told without a whole day of use, nor where it lies years ahead", () => {
    expect(quotaEnd(500, [0, 0, 50], now)).toBeNull();
    expect(quotaEnd(1_000_000, [1, 1], now)).toBeNull();
    expect(quotaEnd(0, [100, 1], now)).toBeNull();
  });
});
