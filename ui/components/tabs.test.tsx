import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import { afterEach, describe, expect, it } from "vitest";

import { organizationQuery } from "@/api/queries";
import { session } from "@/state/session";

import { Tabs } from "./tabs";

const TABS = [
  { id: "jobs", label: "Jobs", href: "/operations/" },
  { id: "workers", label: "Workers", href: "/operations/?tab=workers", needs: "get_workers" as const },
  { id: "reports", label: "Reports", href: "/operations/?tab=reports" },
];

afterEach(cleanup);

function open(tabs = TABS) {
  session.begin({ organizationId: "acme", token: "aq_test" });
  const client = new QueryClient({ defaultOptions: { queries: { queryFn: () => new Promise(() => undefined), staleTime: Infinity } } });
  render(
    <QueryClientProvider client={client}>
      <Tabs label="Operations" tabs={tabs} current="jobs" />
    </QueryClientProvider>,
  );
  return async (permission: string) => {
    client.setQueryData(organizationQuery().queryKey, { permission, permission_needed: { get_workers: "admin" } } as never);
    await waitFor(() => expect(row().className).not.toContain("invisible"));
  };
}

const row = () => screen.getByRole("navigation", { hidden: true });
const labels = () => screen.getAllByRole("link", { hidden: true }).map((link) => link.textContent);

describe("tabs of which some need a permission", () => {
  it("keep the place of each unseen until the permission is known", async () => {
    const know = open();
    expect(row().className).toContain("invisible");
    expect(labels()).toEqual(["Jobs", "Workers", "Reports"]);
    await know("owner");
    expect(labels()).toEqual(["Jobs", "Workers", "Reports"]);
  });

  it("leave out what may not be opened", async () => {
    await open()("read");
    expect(labels()).toEqual(["Jobs", "Reports"]);
  });

  it("are seen at once where none needs a permission", () => {
    open(TABS.filter(({ needs }) => needs === undefined));
    expect(row().className).not.toContain("invisible");
  });
});
