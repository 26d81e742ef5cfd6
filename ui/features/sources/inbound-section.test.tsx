import { QueryClient, QueryClientProvider, useQuery } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";

import { api } from "@/api/client";
import { organizationKeys } from "@/api/keys";
import { session } from "@/state/session";

import { InboundSection } from "./inbound-section";
import { sourceQuery } from "./queries";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const INBOUND = "/v0/orgs/{organization_id}/sources/{source_id}/inbound";
const ADDRESS = { url: "/v0/inbound/Q3", created_at: "2026-11-30T10:00:00Z", last_push_at: null, secret_count: 1, learned_secret: null };

/** The section on a source that is read anew when it changes. */
function Page() {
  const { data } = useQuery(sourceQuery("s1"));
  return data ? <InboundSection source={data} /> : null;
}

/** Shows the section on an API whose source has this address. */
function open(kind: string, address: object | null, permission = "admin") {
  session.begin({ organizationId: "acme", token: "aq_test" });
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  const needed = { get_source_inbound: "admin", create_source_inbound: "admin", delete_source_inbound: "admin" };
  client.setQueryData(organizationKeys.one, { permission, permission_needed: needed });
  let stored = address;
  const answer = (path: string) =>
    Promise.resolve({
      data: path === INBOUND ? stored : { source_id: "s1", kind, has_inbound_address: stored !== null, last_run: null },
      response: new Response(null, { status: 200 }),
    });
  const get = vi.spyOn(api, "GET").mockImplementation(answer as never);
  const post = vi.spyOn(api, "POST").mockImplementation(() => {
    stored ??= ADDRESS;
    return Promise.resolve({ data: { ...stored, secret: "whsec_once" }, response: new Response(null, { status: 201 }) });
  });
  const remove = vi.spyOn(api, "DELETE").mockImplementation(() => {
    stored = null;
    return Promise.resolve({ response: new Response(null, { status: 204 }) });
  });
  render(
    <QueryClientProvider client={client}>
      <Page />
    </QueryClientProvider>,
  );
  return { get, post, remove };
}

const button = (name: string) => screen.findByRole("button", { name });
const bodies = ({ post }: ReturnType<typeof open>) =>
  (post.mock.calls as unknown as [string, { body: object }][]).map(([, sent]) => sent.body);

const paths = ({ get }: ReturnType<typeof open>) => (get.mock.calls as unknown as [string][]).map(([path]) => path);

describe("the inbound address of a source", () => {
  it("is opened, and its secret is shown once", async () => {
    const calls = open("push", null);
    await userEvent.click(await button("Open inbound address"));
    expect(paths(calls)).not.toContain(INBOUND);
    await userEvent.click(await button("Open address"));
    const shown = await screen.findByRole("dialog", { name: "Inbound address opened" });
    expect(within(shown).getByLabelText("Secret")).toHaveProperty("value", "whsec_once");
    expect(bodies(calls)).toEqual([{ overlap_seconds: 86_400, secret: null }]);
    await screen.findByText("Nothing yet");
    await userEvent.click(within(shown).getByRole("button", { name: "Done" }));
    expect(document.body.textContent).not.toContain("whsec_once");
    expect(screen.queryByDisplayValue("whsec_once")).toBeNull();
  });

  it("takes the secret of a service that has its own, and does not show it", async () => {
    const calls = open("slack", null);
    await userEvent.click(await button("Open inbound address"));
    await userEvent.click(await button("Open address"));
    expect(screen.getByRole("alert").textContent).toBe("Enter the secret.");
    await userEvent.type(screen.getByLabelText(/^Signing secret of Slack/), " 8f742231b10e8888abcd99yyyzzz85a5 ");
    await userEvent.click(await button("Open address"));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(bodies(calls)).toEqual([{ overlap_seconds: 86_400, secret: "8f742231b10e8888abcd99yyyzzz85a5" }]);
  });

  it("gets a new secret, and the earlier ones end when they should", async () => {
    const calls = open("github", ADDRESS);
    expect(await screen.findByLabelText("Address")).toHaveProperty("value", `${window.location.origin}/v0/inbound/Q3`);
    await userEvent.click(await button("Make a new secret"));
    await userEvent.selectOptions(screen.getByLabelText("Earlier secrets stay valid"), "No longer");
    await userEvent.click(await button("Make secret"));
    await screen.findByRole("dialog", { name: "New secret" });
    expect(bodies(calls)).toEqual([{ overlap_seconds: 0, secret: null }]);
  });

  it("shows the token that Notion wants confirmed", async () => {
    open("notion", { ...ADDRESS, url: "https://api.example.com/v0/inbound/Q3", learned_secret: "secret_notion" });
    expect(await screen.findByLabelText("Verification token")).toHaveProperty("value", "secret_notion");
    expect(screen.getByLabelText("Address")).toHaveProperty("value", "https://api.example.com/v0/inbound/Q3");
  });

  it("is closed only when that is confirmed", async () => {
    const { remove } = open("push", ADDRESS);
    await userEvent.click(await button("Close address"));
    expect(remove).not.toHaveBeenCalled();
    await userEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Close address" }));
    await button("Open inbound address");
    expect(remove).toHaveBeenCalledOnce();
  });

  it("says who can, and asks nothing, for those who may not", async () => {
    const calls = open("push", ADDRESS, "write");
    expect(await screen.findByText("Admins and owners can open and see the address.")).toBeTruthy();
    expect(paths(calls)).not.toContain(INBOUND);
    expect(screen.queryByRole("button")).toBeNull();
  });
});
