import { call, expect, expectAccessible, test } from "./fixtures";

interface Made {
  documents: { document_id: string }[];
}

const paragraphs = (subject: string) =>
  Array.from({ length: 24 }, (_, at) => `Paragraph ${at + 1} tells how ${subject} are kept in winter number ${at + 1}.`).join("\n\n");

async function charged(kbId: string): Promise<number> {
  const { items } = await call<{ items: { kb_id: string | null; spus: number }[] }>("GET", "/usage");
  return items.filter((item) => item.kb_id === kbId).reduce((sum, item) => sum + item.spus, 0);
}

test("a knowledge base is forecast, made, read chunk by chunk, and looked after", async ({ page }) => {
  const { tag_id: tag } = await call<{ tag_id: string }>("POST", "/tags", { name: "husbandry", color: "#4488cc" });
  const { documents } = await call<Made>("POST", "/documents", {
    documents: ["goats", "geese"].map((subject) => ({
      name: `${subject}.txt`,
      content: Buffer.from(paragraphs(subject)).toString("base64"),
      tag_ids: [tag],
    })),
  });
  for (const { document_id: id } of documents) {
    await expect.poll(async () => (await call<{ state: string }>("GET", `/documents/${id}`)).state).toBe("extracted");
  }

  await page.goto("/kbs/new/");
  await page.getByLabel("Name", { exact: true }).fill("Husbandry");
  await page.getByRole("button", { name: "Tag", exact: true }).click();
  await page.getByRole("option", { name: "husbandry" }).click();
  await page.keyboard.press("Escape");
  const forecast = page.getByRole("region", { name: "Forecast" });
  await page.getByLabel("Chunk size, tokens").fill("32");
  await expect(forecast).toContainText("The overlap must be smaller than the chunk size");
  await page.getByLabel("Overlap, tokens").fill("0");
  await expect(page.getByText("2 documents match")).toBeVisible();
  const asked = { tag_ids: [tag], chunk_size: 32, chunk_overlap: 0 };
  const expected = await call<{ spus: { value: number }; chunks: { value: number } }>("POST", "/knowledge-bases/forecast", asked);
  expect(expected.spus.value).toBeGreaterThan(4);
  const figure = forecast.locator("dt", { hasText: "SPUs" }).locator("xpath=following-sibling::dd[1]");
  await expect(figure).toHaveText(String(expected.spus.value));
  await expectAccessible(page);

  await page.getByRole("button", { name: "Create" }).click();
  await expect(page.getByRole("heading", { name: "Husbandry", level: 1 })).toBeVisible();
  const kbId = new URL(page.url()).searchParams.get("id") ?? "";
  await expect(page.getByRole("row", { name: /goats\.txt/ })).toContainText("Ready");
  await expect(page.getByRole("row", { name: /geese\.txt/ })).toContainText("Ready");
  await expect.poll(() => charged(kbId)).toBe(expected.spus.value);

  await page.getByRole("link", { name: `Chunks ${expected.chunks.value}` }).click();
  const chunks = page.getByRole("region", { name: "Chunks" }).getByRole("listitem");
  await expect(chunks).toHaveCount(expected.chunks.value);
  await page.getByLabel("Document").selectOption({ label: await page.locator("option", { hasText: "geese.txt" }).innerText() });
  await expect(chunks.filter({ hasText: "how geese" }).first()).toBeVisible();
  await expect(chunks.filter({ hasText: "how goats" })).toHaveCount(0);
  await chunks.first().getByRole("button", { expanded: false }).click();
  const beside = page.getByRole("complementary");
  await expect(beside.locator("mark")).toContainText("Paragraph 1 tells how geese");
  await expectAccessible(page);
  await page.reload();
  await expect(beside.locator("mark")).toContainText("Paragraph 1 tells how geese");
  await beside.getByRole("link", { name: "Open" }).click();
  await page.getByRole("link", { name: "Chunks", exact: true }).click();
  await expect(chunks.filter({ hasText: "how geese" }).first()).toBeVisible();

  await page.goto(`/kbs/view/?id=${kbId}&tab=health`);
  await page.getByRole("button", { name: "Dry run" }).click();
  const report = page.getByRole("region", { name: "Report" });
  await expect(report).toContainText("No problems found");
  await expect(report).toContainText("Dry run");
  await page.getByRole("button", { name: "Run now" }).click();
  await expect(page.getByRole("region", { name: "Health" }).getByRole("listitem")).toHaveCount(2);
  await expect(report).toContainText("No problems found");
  await expectAccessible(page);
});
