import { call, expect, test } from "./fixtures";

async function fill(name: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let first = 0; first < count; first += 50) {
    const documents = Array.from({ length: Math.min(50, count - first) }, (_, at) => ({
      name: `${name}-${String(first + at).padStart(3, "0")}.txt`,
      content: Buffer.from(`${name} ${first + at}`).toString("base64"),
    }));
    const made = await call<{ documents: { document_id: string }[] }>("POST", "/documents", { documents });
    ids.push(...made.documents.map(({ document_id: id }) => id));
  }
  return ids;
}

test("documents of the last page that are deleted are gone from the list, which turns to the page before", async ({ page }) => {
  await fill("lastpage", 30);
  await page.goto("/documents/?q=lastpage-&size=25&page=2&sort=document_name");
  await expect(page.getByRole("row")).toHaveCount(6);
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  await page.getByRole("button", { name: "Delete…" }).click();
  await page.getByRole("button", { name: "Delete 5 documents" }).click();
  await expect(page.getByText("5 deleted")).toBeVisible();
  await expect(page).not.toHaveURL(/page=2/);
  await expect(page.getByRole("row")).toHaveCount(26);
  await expect(page.getByText("1–25 of 25")).toBeVisible();
  await expect(page.getByRole("row", { name: /lastpage-02[5-9]/ })).toHaveCount(0);
});

test("a deletion in a live list leaves no row of what is gone", async ({ page }) => {
  await fill("middle", 30);
  await page.goto("/documents/?q=middle-&size=25&sort=document_name");
  await expect(page.getByRole("row")).toHaveCount(26);
  for (const at of ["003", "004", "005", "006", "007", "008", "009"])
    await page.getByRole("checkbox", { name: `Select middle-${at}.txt` }).check();
  await page.getByRole("button", { name: "Delete…" }).click();
  await page.getByRole("button", { name: "Delete 7 documents" }).click();
  await expect(page.getByText("7 deleted")).toBeVisible();
  await expect(page.getByRole("row")).toHaveCount(24);
  await expect(page.getByRole("row", { name: /middle-00[3-9]/ })).toHaveCount(0);
  await expect(page.getByRole("row", { name: /middle-029/ })).toBeVisible();
});

test("what another person deletes is shown as deleted, and cannot be opened or chosen", async ({ page }) => {
  const [first = ""] = await fill("elsewhere", 3);
  await page.goto("/documents/?q=elsewhere-&sort=document_name");
  const row = page.getByRole("row", { name: /elsewhere-000/ });
  await page.getByRole("checkbox", { name: "Select elsewhere-000.txt" }).check();
  await page.getByRole("checkbox", { name: "Select elsewhere-001.txt" }).check();
  await call("DELETE", `/documents/${first}`);
  await expect(row).toContainText("Deleted");
  await expect(row.getByRole("checkbox")).toBeDisabled();
  await expect(row.getByRole("link")).toHaveCount(0);
  await expect(page.getByRole("region", { name: "Selection" })).toContainText("1 selected");
  await expect(page.getByText("1–2 of 2")).toBeVisible();
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  await expect(page.getByRole("region", { name: "Selection" })).toContainText("2 selected");
});

test("an address past the end leads to the last page, and Back does not lead past it again", async ({ page }) => {
  await fill("pastend", 30);
  await page.goto("/tags/");
  await page.goto("/documents/?q=pastend-&size=25&page=999&sort=document_name");
  await expect(page.getByText("26–30 of 30")).toBeVisible();
  await expect(page).toHaveURL(/page=2/);
  await page.goBack();
  await expect(page).toHaveURL(/\/tags\//);
});
