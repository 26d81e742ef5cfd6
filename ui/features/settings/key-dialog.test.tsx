import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";

import { api } from "@/api/client";
import { session } from "@/state/session";

import { KeyDialog } from "./key-dialog";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

/** Opens the dialog on an API that gives this answer. */
function open(name: string, status: number, body: object) {
  session.begin({ organizationId: "acme", token: "aq_test" });
  const put = vi
    .spyOn(api, "PUT")
    .mockResolvedValue({ [status < 400 ? "data" : "error"]: body, response: new Response(null, { status }) } as never);
  const onClose = vi.fn();
  render(
    <QueryClientProvider client={new QueryClient()}>
      <KeyDialog name={name} onClose={onClose} />
    </QueryClientProvider>,
  );
  return { put, onClose };
}

const fill = (label: string, text: string) => userEvent.type(screen.getByLabelText(label, { exact: false, selector: "input" }), text);
const save = () => userEvent.click(screen.getByRole("button", { name: "Save key" }));
const alerts = () => screen.queryAllByRole("alert").map((alert) => alert.textContent.trim());

describe("the dialog of a provider's key", () => {
  it("asks for what is missing and sends nothing", async () => {
    const { put } = open("", 200, {});
    await fill("Address", "example.com");
    await save();
    expect(alerts()).toEqual(["Enter the provider's name.", "Enter the key.", "Enter an address that begins with https:// or http://."]);
    expect(put).not.toHaveBeenCalled();
  });

  it("stores the key of the named provider and closes", async () => {
    const { put, onClose } = open("openai", 200, { litellm_provider: "openai" });
    expect(screen.queryByLabelText("Provider", { exact: false })).toBeNull();
    await fill("Key", "secret-0123456789");
    await save();
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    expect(put.mock.calls[0]?.[1]).toEqual({
      params: { path: { organization_id: "acme", litellm_provider: "openai" } },
      body: { api_key: "secret-0123456789" },
    });
  });

  it("shows a refusal at its field and keeps what was typed", async () => {
    const errors = [{ field: "api_key", reason: "The key is too short." }];
    const { onClose } = open("openai", 422, { detail: "The request is not valid.", errors });
    await fill("Key", "short");
    await save();
    await waitFor(() => expect(alerts()).toEqual(["The key is too short."]));
    expect(screen.getByLabelText("Key", { exact: false, selector: "input" })).toHaveProperty("value", "short");
    expect(onClose).not.toHaveBeenCalled();
  });
});
