import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";

import { api } from "@/api/client";
import { session } from "@/state/session";

import { DeleteDialog } from "./delete-dialog";
import type { Source } from "./queries";

const replace = vi.fn();
vi.mock("next/navigation", () => ({ useRouter: () => ({ replace }) }));

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  replace.mockReset();
});

function open() {
  session.begin({ organizationId: "acme", token: "aq_test" });
  const remove = vi.spyOn(api, "DELETE").mockResolvedValue({ response: new Response(null, { status: 204 }) });
  render(
    <QueryClientProvider client={new QueryClient()}>
      <DeleteDialog
        source={{ source_id: "s1", name: "Contracts" } as Source}
        parent={{ href: "/sources/", onFollow: () => undefined }}
        onClose={() => undefined}
      />
    </QueryClientProvider>,
  );
  return remove;
}

const sent = (remove: ReturnType<typeof open>) => (remove.mock.calls as unknown[][]).map(([, options]) => options);

describe("deleting a source", () => {
  it("keeps its documents unless the other choice is made", async () => {
    const remove = open();
    await userEvent.click(screen.getByRole("button", { name: "Delete source" }));
    await waitFor(() => expect(replace).toHaveBeenCalledWith("/sources/"));
    expect(sent(remove)).toEqual([{ params: { path: { organization_id: "acme", source_id: "s1" }, query: { documents: "keep" } } }]);
  });

  it("deletes them only when the name is typed", async () => {
    const remove = open();
    await userEvent.click(screen.getByLabelText("Delete its documents", { exact: false }));
    const action = screen.getByRole("button", { name: "Delete source and documents" });
    expect(action).toHaveProperty("disabled", true);
    await userEvent.type(screen.getByRole("textbox"), "Contract{Enter}");
    expect(remove).not.toHaveBeenCalled();
    await userEvent.type(screen.getByRole("textbox"), "s");
    await userEvent.click(action);
    await waitFor(() => expect(replace).toHaveBeenCalled());
    expect(sent(remove)).toEqual([{ params: { path: { organization_id: "acme", source_id: "s1" }, query: { documents: "delete" } } }]);
  });
});
