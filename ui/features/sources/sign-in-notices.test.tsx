import { cleanup, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { NuqsTestingAdapter, type UrlUpdateEvent } from "nuqs/adapters/testing";
import { afterEach, describe, expect, it, vi } from "vitest";

import { DoneSignIn, FailedSignIn } from "./sign-in-notices";

afterEach(cleanup);

/** Opens a notice at an address, and notes how it changes the address. */
function open(search: string, notice: React.ReactNode) {
  const onUrlUpdate = vi.fn<(event: UrlUpdateEvent) => void>();
  render(
    <NuqsTestingAdapter searchParams={search} onUrlUpdate={onUrlUpdate} hasMemory>
      {notice}
    </NuqsTestingAdapter>,
  );
  return () => onUrlUpdate.mock.calls.map(([event]) => event.queryString);
}

describe("the return from a sign-in at a service", () => {
  it("tells a failure by its code, and keeps the address free of it", async () => {
    const addresses = open("?sign_in_error=sign_in_expired&page=2", <FailedSignIn />);
    expect(screen.getByRole("alert").textContent).toContain("longer than ten minutes");
    await waitFor(() => expect(addresses()).toEqual(["?page=2"]));
    expect(screen.getByRole("alert").textContent).toContain("sign in again");
    await userEvent.click(screen.getByRole("button", { name: "Dismiss" }));
    expect(screen.queryByRole("alert")).toBeNull();
  });

  it.each(["Call 0800 1234 now", "constructor", "<b>x</b>"])("shows no text of the address: %s", (text) => {
    open(`?sign_in_error=${encodeURIComponent(text)}`, <FailedSignIn />);
    expect(screen.getByRole("alert").textContent).toContain("The sign-in at the service was not completed.");
    expect(document.body.textContent).not.toContain(text);
  });

  it("tells success once", async () => {
    const addresses = open("?id=s1&signed_in=1", <DoneSignIn />);
    expect(screen.getByRole("status").textContent).toContain("You are signed in.");
    await waitFor(() => expect(addresses()).toEqual(["?id=s1"]));
    cleanup();
    open("?id=s1", <DoneSignIn />);
    expect(screen.queryByRole("status")).toBeNull();
  });
});
