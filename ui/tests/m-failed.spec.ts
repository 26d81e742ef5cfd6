import { call, expect, expectAccessible, test } from "./fixtures";

interface Made {
  documents: { document_id: string }[];
}

const base64 = (text: string) => Buffer.from(text).toString("base64");

test("documents that failed are told everywhere, with the reason and one button for all", async ({ page }) => {
  const { tag_id: tag } = await call<{ tag_id: string }>("POST", "/tags", { name: "letters of 1911" });
  const { documents } = await call<Made>("POST", "/documents", {
    documents: [
      { name: "whole-letter.txt", content: base64("A letter about herrings."), tag_ids: [tag] },
      { name: "torn-letter.pdf", content: base64("%PDF-1.7\ntorn in two"), tag_ids: [tag] },
      { name: "burnt-letter.pdf", content: base64("%PDF-1.4\nburnt"), tag_ids: [tag] },
    ],
  });
  const ids = documents.map((document) => document.document_id);
  const { kb_id: kbId } = await call<{ kb_id: string }>("POST", "/knowledge-bases", { name: "Letters of 1911", tag_ids: [tag] });
  try {
    const standing = () => call<{ failed_document_count: number; document_count: number }>("GET", `/knowledge-bases/${kbId}`);
    await expect.poll(standing, { timeout: 60_000 }).toMatchObject({ failed_document_count: 2, document_count: 1 });

    await page.goto("/kbs/");
    const row = page.getByRole("row", { name: /Letters of 1911/ });
    await expect(row).toContainText("2 of 3 failed");
    await expect(page.getByRole("navigation").getByRole("link", { name: /^Documents/ })).toContainText("failed documents");
    await row.getByRole("link", { name: "Letters of 1911" }).click();
    await expect(page.getByText("2 of 3 documents failed. A search of this knowledge base doesn't find them.")).toBeVisible();
    await expectAccessible(page);

    await page.getByRole("link", { name: "Show failed documents" }).click();
    await expect(page.getByRole("button", { name: "In Letters of 1911" })).toBeVisible();
    await expect(page.getByRole("row", { name: /-letter\./ })).toHaveCount(2);
    await page.getByRole("link", { name: "torn-letter.pdf" }).click();
    await page.getByRole("link", { name: "History" }).click();
    await expect(page.getByRole("row", { name: /Extract text/ }).first()).toContainText("Failed");

    await page.goto("/operations/");
    const failed = page.getByRole("region", { name: "Failed documents" });
    await expect(failed).toContainText("File is damaged");
    await expectAccessible(page);
    // Other stories have left damaged files in the same organization.
    const { failures } = await call<{ failures: { error_code: string; count: number }[] }>("GET", "/documents/counts");
    const damaged = failures.find((failure) => failure.error_code === "corrupt_file")?.count ?? 0;
    expect(damaged).toBeGreaterThanOrEqual(2);
    const retried = page.waitForResponse((response) => response.url().endsWith("/documents/retry"));
    await failed.getByRole("button", { name: /^Retry the documents that failed: File is damaged/ }).click();
    expect((await (await retried).json()) as { retried: number }).toEqual({ retried: damaged });
    await expect(page.getByText(`Retrying ${damaged} documents`)).toBeVisible();
    await expect.poll(standing, { timeout: 60_000 }).toMatchObject({ failed_document_count: 2 });
  } finally {
    await call("DELETE", `/knowledge-bases/${kbId}`);
    for (const id of ids) await call("DELETE", `/documents/${id}`);
  }
});
