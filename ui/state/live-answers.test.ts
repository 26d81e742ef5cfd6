import { QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { documentKeys, kbKeys } from "@/api/keys";

import { LiveAnswers } from "./live-answers";

type Held = { state: string };

describe("live answers", () => {
  let client: QueryClient;
  let answers: LiveAnswers;

  beforeEach(() => {
    vi.useFakeTimers();
    client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
    answers = new LiveAnswers(client);
  });

  afterEach(() => {
    answers.stop();
    client.clear();
    vi.useRealTimers();
  });

  /** Ask for `queryKey`; the first answer waits until it is given, later ones are of `now`. */
  function ask(queryKey: readonly unknown[], now: unknown) {
    let give: (answer: unknown) => void = () => undefined;
    const first = new Promise<unknown>((resolve) => (give = resolve));
    const queryFn = vi.fn().mockReturnValueOnce(first).mockResolvedValue(now);
    const observed = client.getQueryCache().build(client, { queryKey: [...queryKey], queryFn });
    const asked = observed.fetch();
    asked.catch(() => undefined); // the answer that is overtaken is dropped
    return { queryFn, give, observed };
  }

  const extracted = { document_id: "d1", state: "extracted", updated_at: "2", tag_ids: [], knowledge_bases: [], extraction: null };

  it.each([
    ["document", "first", documentKeys.one("d1"), extracted],
    ["document", "list", documentKeys.list("page"), extracted],
    ["knowledge base", "first", kbKeys.one("b1"), { kb_id: "b1", state: "ready" }],
  ])("asks again for a %s (%s) whose answer was under way when its event came", async (what, _place, queryKey, data) => {
    const { give, observed } = ask(queryKey, { state: "now" });
    answers.apply({ name: what.replace(" ", "_"), data });
    give({ state: "before" });
    await vi.advanceTimersByTimeAsync(0);
    expect((observed.state.data as Held).state).toBe("before");
    await vi.advanceTimersByTimeAsync(2_000);
    expect(observed.state.isInvalidated).toBe(true);
  });

  it("lets a slow answer come, and asks again after it", async () => {
    const { give, queryFn, observed } = ask(documentKeys.list("page"), { state: "now" });
    for (let second = 0; second < 5; second++) {
      answers.apply({ name: "document", data: extracted });
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(queryFn).toHaveBeenCalledTimes(1);
    give({ state: "before" });
    await vi.advanceTimersByTimeAsync(2_000);
    expect((observed.state.data as Held).state).toBe("before");
    expect(observed.state.isInvalidated).toBe(true);
  });

  it("keeps an answer that was there when the event came, with what the event says", async () => {
    client.setQueryData(documentKeys.one("d1"), { ...extracted, state: "extracting", updated_at: "1" });
    answers.apply({ name: "document", data: extracted });
    await vi.advanceTimersByTimeAsync(2_000);
    expect(client.getQueryData<Held>(documentKeys.one("d1"))?.state).toBe("extracted");
    expect(client.getQueryState(documentKeys.one("d1"))?.isInvalidated).toBe(false);
  });
});
