import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";

import { api } from "@/api/client";
import { organizationKeys } from "@/api/keys";
import { session } from "@/state/session";

import { OrganizationForm } from "./organization-form";
import type { Stored } from "./organization-values";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const NONE = { requests_per_minute: null, tokens_per_minute: null, documents_per_minute: null, models: [] };
const STORED: Stored = {
  organization: {
    organization_id: "acme",
    name: "Acme",
    cache_scope: "organization",
    may_share_cache: false,
    created_at: "2026-01-01T00:00:00Z",
    permission: "owner",
    permission_needed: { update_organization: "admin" },
  },
  retention: { document_days: null },
  settings: {
    ocr_languages: null,
    available_ocr_languages: ["deu", "eng"],
    rate_limits: NONE,
    vision: { model: null, describe_figures: false, read_pages: false },
    skipped_flaws: [],
    server: { ocr_languages: ["eng"], rate_limits: { ...NONE, requests_per_minute: 60 } },
  },
};

interface Answer {
  status: number;
  body: object;
}

/** Opens the form on an API that gives this answer to every change. */
function open({ status, body }: Answer = { status: 200, body: {} }) {
  session.begin({ organizationId: "acme", token: "aq_test" });
  const answer = { [status < 400 ? "data" : "error"]: body, response: new Response(null, { status }) };
  const put = vi.spyOn(api, "PUT").mockResolvedValue(answer as never);
  vi.spyOn(api, "GET").mockReturnValue(new Promise(() => undefined));
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  client.setQueryData(organizationKeys.one, STORED.organization);
  const shown = (stored: Stored) => (
    <QueryClientProvider client={client}>
      <OrganizationForm stored={stored} />
    </QueryClientProvider>
  );
  const { rerender } = render(shown(STORED));
  return {
    bodies: () => put.mock.calls.map((call) => (call[1] as { body: object }).body),
    follow: (stored: Stored) => rerender(shown(stored)),
  };
}

const refusal = (field: string, reason: string): Answer => ({
  status: 422,
  body: { detail: "The request is not valid.", errors: [{ field, reason }] },
});
const field = (label: string) => screen.getByLabelText<HTMLInputElement>(label, { exact: false, selector: "input" });
const button = (name: string) => screen.getByRole("button", { name });
const save = () => userEvent.click(button("Save"));
const alerts = () => screen.queryAllByRole("alert").map((alert) => alert.textContent.trim());

async function fill(label: string, text: string) {
  await userEvent.clear(field(label));
  await userEvent.type(field(label), text);
}

describe("the form of an organization's settings", () => {
  it("names each problem at its field and sends nothing", async () => {
    const { bodies } = open();
    await userEvent.clear(field("Name"));
    await fill("Keep documents for", "0");
    await fill("Calls a minute", "61");
    await userEvent.click(button("Add limits for a model"));
    await save();
    expect(alerts()).toEqual([
      "Enter a name.",
      "Enter a whole number from 1 to 36,500.",
      "Enter a whole number from 1 to 60.",
      "Enter the model's name.",
    ]);
    expect(field("Calls a minute").getAttribute("aria-invalid")).toBe("true");
    expect(bodies()).toEqual([]);
  });

  it("sends what was changed", async () => {
    const { bodies } = open();
    await fill("Tokens a minute", "500");
    await userEvent.click(screen.getByRole("radio", { name: "These" }));
    await userEvent.click(button("Add limits for a model"));
    await userEvent.type(screen.getByPlaceholderText("openai/text-embedding-3-small"), "openai/some-model");
    await save();
    const rateLimits = {
      ...NONE,
      tokens_per_minute: 500,
      models: [{ model: "openai/some-model", requests_per_minute: null, tokens_per_minute: null }],
    };
    await waitFor(() => expect(bodies()).toEqual([{ ocr_languages: ["eng"], rate_limits: rateLimits }]));
  });

  it("sends the kinds of flawed text to leave out, in the order of the API", async () => {
    const { bodies } = open();
    await userEvent.click(screen.getByRole("checkbox", { name: /Machine text/ }));
    await userEvent.click(screen.getByRole("checkbox", { name: /Unreadable text/ }));
    await save();
    await waitFor(() => expect(bodies()).toEqual([{ skipped_flaws: ["noise", "machine_text"] }]));
  });

  it("asks before documents are deleted sooner", async () => {
    const { bodies } = open();
    await fill("Keep documents for", "30");
    await save();
    expect(bodies()).toEqual([]);
    expect(screen.getByRole("dialog").textContent).toContain("Keep documents for 30 days only?");
    await userEvent.click(button("Delete older documents"));
    await waitFor(() => expect(bodies()).toEqual([{ document_days: 30 }]));
  });

  it.each([
    ["rate_limits.tokens_per_minute", "Is too high."],
    ["ocr_languages[0]", "Is not installed."],
    ["elsewhere", "The request is not valid. Your changes are still here."],
  ])("shows a refusal of %s and keeps what was typed", async (place, shown) => {
    open(refusal(place, shown));
    await fill("Tokens a minute", "500");
    await userEvent.click(screen.getByRole("radio", { name: "These" }));
    await save();
    await waitFor(() => expect(alerts()).toEqual([shown]));
    expect(field("Tokens a minute").value).toBe("500");
  });

  it("discards changes, and follows what others save while nothing is edited", async () => {
    const { follow } = open();
    await fill("Name", "Acme Ltd");
    follow({ ...STORED, organization: { ...STORED.organization, name: "Acme Inc" } });
    expect(field("Name").value).toBe("Acme Ltd");
    await userEvent.click(button("Discard"));
    expect(field("Name").value).toBe("Acme Inc");
    follow(STORED);
    await waitFor(() => expect(field("Name").value).toBe("Acme"));
    expect(screen.queryByRole("region", { name: "Unsaved changes" })).toBeNull();
  });
});
