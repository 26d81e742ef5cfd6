import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { NuqsTestingAdapter } from "nuqs/adapters/testing";
import { afterEach, describe, expect, it, vi } from "vitest";

import { api } from "@/api/client";
import type { DocumentDetail } from "@/api/queries";
import { session } from "@/state/session";

import { TablesTab } from "./tables-tab";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const DOCUMENT = { document_id: "d1", sha256: "f00", state: "extracted" } as DocumentDetail;
const column = (name: string, type: string, note = "") => ({ name, type, unit: "", value_count: 2, unfit_count: 0, note });
const TABLE = {
  table_id: "d1-1",
  document_id: "d1",
  title: "Sales",
  page_number: 1,
  page_name: "",
  columns: [column("Region", "text"), column("Amount", "integer", "1 of 3 values is no number.")],
  row_count: 2,
  sample: [
    ["North", 7],
    ["South", null],
  ],
};
const ANSWER = {
  document_id: "d1",
  page_number: 1,
  columns: [{ name: "total", type: "hugeint" }],
  rows: [["7"]],
  is_truncated: false,
  source_rows: [{ number: 1, values: ["North", 7], page_number: 2, start: 10, end: 20 }],
  source_row_count: 2,
  rests_on: "exact",
};

const SQL = "?isSql=true";

const reply = (status: number, body: object) => ({
  [status < 400 ? "data" : "error"]: body,
  response: new Response(null, { status }),
});

/** Opens the tab on an API whose document has these tables. */
function open(found: object, search = "") {
  session.begin({ organizationId: "acme", token: "aq_test" });
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  vi.spyOn(api, "GET").mockResolvedValue(
    reply(200, { documents: [{ tables: [TABLE], warnings: [], problem: null, ...found }], total_count: 1, skip: 0 }),
  );
  const post = vi.spyOn(api, "POST").mockResolvedValue(reply(200, ANSWER));
  render(
    <NuqsTestingAdapter searchParams={search} hasMemory>
      <QueryClientProvider client={client}>
        <TablesTab document={DOCUMENT} />
      </QueryClientProvider>
    </NuqsTestingAdapter>,
  );
  return post;
}

const asked = (post: ReturnType<typeof open>) =>
  (post.mock.calls as unknown as [string, { body: { sql: string } }][]).map(([, sent]) => sent.body.sql);
const box = () => screen.findByLabelText<HTMLTextAreaElement>("Ask in SQL");

describe("the tables of a document", () => {
  it("are shown with columns, types and first rows", async () => {
    open({});
    const columns = await screen.findByRole("table", { name: "Columns" });
    expect(within(columns).getByRole("row", { name: /Amount 1 of 3 values is no number\. integer 2/ })).toBeTruthy();
    const rows = screen.getByRole("table", { name: "First rows" });
    expect(
      within(rows)
        .getAllByRole("row")
        .map((row) => row.textContent),
    ).toEqual(["RegionAmount", "North7", "South–"]);
  });

  it("are asked by the keyboard, and the answer names its rows", async () => {
    const post = open({}, SQL);
    await userEvent.type(await box(), "SELECT sum(Amount) AS total FROM rows{Control>}{Enter}{/Control}");
    const result = await screen.findByRole("table", { name: "Result" });
    expect(within(result).getByRole("row", { name: "7" })).toBeTruthy();
    expect(asked(post)).toEqual(["SELECT sum(Amount) AS total FROM rows"]);
    expect(screen.getByText("Rests on 2 rows of the table")).toBeTruthy();
    const place = screen.getByRole("link", { name: "Row 1: show in the text" });
    expect(place.getAttribute("href")).toContain("?id=d1&page=2&hl=2-2:10-20");
  });

  it("answer an example at once", async () => {
    const post = open({}, SQL);
    await userEvent.click(await screen.findByRole("button", { name: "Amount by Region" }));
    await screen.findByRole("table", { name: "Result" });
    expect(asked(post)[0]).toContain('GROUP BY "Region"');
    expect((await box()).value).toContain('GROUP BY "Region"');
  });

  it("tell what is wrong with a query, and keep it", async () => {
    const post = open({}, SQL);
    const reason = "There is no column 'Amuont'. Columns: Region, Amount.";
    post.mockResolvedValueOnce(reply(400, { code: "invalid_query", detail: `sql: ${reason}`, errors: [{ field: "sql", reason }] }));
    await userEvent.type(await box(), "SELECT Amuont FROM rows");
    await userEvent.click(screen.getByRole("button", { name: "Ask" }));
    await waitFor(() => expect(screen.getByRole("alert").textContent).toBe(reason));
    expect(await box()).toHaveProperty("value", "SELECT Amuont FROM rows");
    await userEvent.click(screen.getByRole("button", { name: "Ask" }));
    await screen.findByRole("table", { name: "Result" });
    expect(screen.queryByRole("alert")).toBeNull();
  });

  it("are asked by a form, whose query the address keeps", async () => {
    const post = open({});
    await userEvent.click(await screen.findByRole("button", { name: "Add condition" }));
    await userEvent.selectOptions(screen.getByLabelText("Column of condition 1"), "Amount");
    await userEvent.selectOptions(screen.getByLabelText("Comparison of condition 1"), "is at least");
    await userEvent.click(screen.getByRole("button", { name: "Ask" }));
    expect((await screen.findByRole("alert")).textContent).toBe("Enter a value.");
    await userEvent.type(screen.getByLabelText(/Value of condition 1/), "1,000");
    await userEvent.click(screen.getByRole("button", { name: "Add group" }));
    await userEvent.click(screen.getByRole("button", { name: "Add calculation" }));
    await userEvent.selectOptions(screen.getByLabelText("Sort by"), "sum of Amount");
    await userEvent.click(screen.getByRole("button", { name: "Ask" }));
    await screen.findByRole("table", { name: "Result" });
    const sql =
      'SELECT "Region", sum("Amount") AS "sum of Amount"\nFROM rows\nWHERE "Amount" >= 1000\nGROUP BY "Region"\n' +
      'ORDER BY "sum of Amount" DESC NULLS LAST';
    expect(asked(post)).toEqual([sql]);
    expect(screen.getByLabelText<HTMLInputElement>("Value of condition 1").value).toBe("1,000");
    await userEvent.click(screen.getByRole("button", { name: "Edit as SQL" }));
    expect((await box()).value).toBe(sql);
    await userEvent.click(screen.getByRole("button", { name: "Form" }));
    expect((await screen.findByLabelText<HTMLInputElement>("Value of condition 1")).value).toBe("1,000");
  });

  it("open on the query of the address", async () => {
    const post = open({}, "?tab=tables&table=d1-1&sql=SELECT%20count(*)%20FROM%20rows");
    await screen.findByRole("table", { name: "Result" });
    expect(asked(post)).toEqual(["SELECT count(*) FROM rows"]);
  });

  it("say why there are none", async () => {
    open({ tables: [] });
    expect(await screen.findByRole("heading", { name: "No tables found" })).toBeTruthy();
    cleanup();
    vi.restoreAllMocks();
    open({ tables: [], problem: "The document's text has not been extracted yet." });
    expect(await screen.findByText(/has not been extracted yet/)).toBeTruthy();
    expect(screen.queryByRole("heading", { name: "No tables found" })).toBeNull();
  });
});
