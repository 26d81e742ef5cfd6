import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";

import { api } from "@/api/client";
import { organizationKeys, tagKeys } from "@/api/keys";
import { session } from "@/state/session";

import { CreateForm } from "./create-form";
import type { SourceKind } from "./queries";

const push = vi.fn();
vi.mock("next/navigation", () => ({ useRouter: () => ({ push }), usePathname: () => "/sources/new/" }));

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  push.mockReset();
});

const KIND = {
  kind: "wiki",
  title: "Wiki",
  description: "Pages of a wiki.",
  settings_schema: {
    properties: {
      url: { type: "string", title: "Address" },
      spaces: { type: "array", items: { type: "string" } },
      drafts: { type: "boolean", default: false },
    },
    required: ["url"],
  },
  credentials_schema: { properties: { token: { type: "string" } }, required: ["token"] },
  sign_in_redirect_url: "https://here.example/callback",
} as SourceKind;

/** Opens the form on an API that gives this answer. */
function open(status: number, body: object) {
  session.begin({ organizationId: "acme", token: "aq_test" });
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(organizationKeys.one, { permission: "admin", permission_needed: { update_source: "admin" } });
  client.setQueryData(tagKeys.index, new Map());
  const post = vi
    .spyOn(api, "POST")
    .mockResolvedValue({ [status < 400 ? "data" : "error"]: body, response: new Response(null, { status }) });
  render(
    <QueryClientProvider client={client}>
      <CreateForm kind={KIND} />
    </QueryClientProvider>,
  );
  return post;
}

const field = (label: string) => screen.getByLabelText(new RegExp(`^${label}`), { selector: "input, textarea, select" });
const add = () => userEvent.click(screen.getByRole("button", { name: "Add source" }));
const alerts = () => screen.queryAllByRole("alert").map((alert) => alert.textContent.trim());

describe("the form of a new source", () => {
  it("tells what an application at the service needs for a sign-in", () => {
    open(201, {});
    expect(screen.getByText("https://here.example/callback").closest("p")?.textContent).toContain("choose “Sign in” on its page");
  });

  it("returns the keyboard to where the test was begun", async () => {
    open(200, { is_ok: true, code: null, problem: null, items: [] });
    await userEvent.type(field("Name"), "Handbook");
    await userEvent.type(field("Address"), "https://wiki.example");
    await userEvent.type(field("Token"), "secret");
    const begin = screen.getByRole("button", { name: "Test connection" });
    begin.focus();
    await userEvent.keyboard("{Enter}");
    await screen.findByRole("dialog");
    await userEvent.keyboard("{Escape}");
    await waitFor(() => expect(document.activeElement).toBe(begin));
  });

  it("asks for what the kind requires and sends nothing", async () => {
    const post = open(201, {});
    await add();
    expect(alerts()).toEqual(["Enter a name.", "Enter a value for “Address”.", "Enter a value for “Token”."]);
    expect(post).not.toHaveBeenCalled();
  });

  it("hides credentials, sends typed settings, and goes on to the test", async () => {
    const post = open(201, { source_id: "s1" });
    expect(field("Token").getAttribute("type")).toBe("password");
    await userEvent.type(field("Name"), "Handbook");
    await userEvent.type(field("Address"), "https://wiki.example");
    await userEvent.type(field("Spaces"), "HR{Enter}Legal");
    await userEvent.click(field("Drafts"));
    await userEvent.type(field("Token"), "s3cret");
    await userEvent.selectOptions(field("Schedule"), "Every day");
    await add();
    await waitFor(() => expect(push).toHaveBeenCalledWith("/sources/view/?id=s1&test=1"));
    expect(post.mock.calls[0]?.[1]).toMatchObject({
      body: {
        kind: "wiki",
        name: "Handbook",
        settings: { url: "https://wiki.example", spaces: ["HR", "Legal"], drafts: true },
        credentials: { token: "s3cret" },
        interval_seconds: 86_400,
        when_vanished: "delete",
      },
    });
  });

  it("tests what is typed without adding it", async () => {
    const post = open(200, { is_ok: false, problem: "The wiki refuses the token.", items: [] });
    await userEvent.type(field("Name"), "Handbook");
    await userEvent.type(field("Address"), "https://wiki.example");
    await userEvent.type(field("Token"), "s3cret");
    await userEvent.click(screen.getByRole("button", { name: "Test connection" }));
    await waitFor(() => expect(alerts()).toEqual(["The wiki refuses the token."]));
    expect((post.mock.calls as unknown[][]).map(([path]) => path)).toEqual(["/v0/orgs/{organization_id}/sources/test"]);
    await userEvent.click(screen.getByRole("button", { name: "Change settings" }));
    expect(screen.queryByRole("dialog")).toBeNull();
    expect(field("Token")).toHaveProperty("value", "s3cret");
    expect(push).not.toHaveBeenCalled();
  });

  it("shows refusals at their fields, opens the folded ones, and keeps what was typed", async () => {
    const errors = [
      { field: "settings.url", reason: "Is no address." },
      { field: "filters.include[0]", reason: "Is no pattern." },
    ];
    open(422, { detail: "The request is not valid.", errors });
    await userEvent.type(field("Name"), "Handbook");
    await userEvent.type(field("Address"), "wiki");
    await userEvent.type(field("Token"), "s3cret");
    await add();
    await waitFor(() => expect(alerts()).toEqual(["Is no address.", "Is no pattern."]));
    expect(document.querySelector("details")).toHaveProperty("open", true);
    expect(field("Address")).toHaveProperty("value", "wiki");
    expect(push).not.toHaveBeenCalled();
  });
});
