import type { Page } from "@playwright/test";

import { call, expect, test } from "./fixtures";
import { pdfOf, type MadePage } from "./made-pdf";

interface Uploaded {
  documents: { document_id: string }[];
}

async function uploaded(name: string, pages: readonly MadePage[]): Promise<string> {
  const { documents } = await call<Uploaded>("POST", "/documents", {
    documents: [{ name, content: pdfOf(pages).toString("base64") }],
  });
  const id = documents[0]?.document_id ?? "";
  await expect.poll(async () => (await call<{ state: string }>("GET", `/documents/${id}`)).state, { timeout: 30_000 }).toBe("extracted");
  return id;
}

/** Where a text stands in the document, as the viewer's address names it. */
async function addressOf(id: string, text: string): Promise<string> {
  const answer = await call<{ pages: { page_number: number; start: number; text: string }[] }>("GET", `/documents/${id}/text?limit=100`);
  const found = answer.pages.find((page) => page.text.includes(text));
  if (!found) throw new Error(`${text} is on no page`);
  const start = found.start + found.text.indexOf(text);
  return `/documents/view/?id=${id}&page=${found.page_number}&hl=${found.page_number}-${found.page_number}:${start}-${start + text.length}`;
}

/** How much of the drawn words lies in the boxes, and of the boxes on the words: both 1 where they are the same. */
async function overlap(page: Page, words: string): Promise<{ covered: number; box: number }> {
  const box = await page.locator(".pdf-page .passage-box").first().boundingBox();
  const drawn = await page.locator(".pdf-page .textLayer span").filter({ hasText: words }).first().boundingBox();
  if (!box || !drawn) throw new Error("there is no box, or no word");
  const across = Math.min(box.x + box.width, drawn.x + drawn.width) - Math.max(box.x, drawn.x);
  const down = Math.min(box.y + box.height, drawn.y + drawn.height) - Math.max(box.y, drawn.y);
  const common = Math.max(0, across) * Math.max(0, down);
  return { covered: common / (drawn.width * drawn.height), box: common / (box.width * box.height) };
}

test("a citation opens page 37 of its document, with the box on the words", async ({ page }) => {
  const pages: MadePage[] = Array.from({ length: 42 }, (_, at) => ({ lines: [`Sheet ${at + 1} tells of ordinary things.`] }));
  pages[36] = { lines: ["Preamble", "The walrus keeps the bronze key.", "End of the sheet"] };
  const id = await uploaded("page 37.pdf", pages);
  await page.goto(await addressOf(id, "The walrus keeps the bronze key."));
  await expect(page.locator(".pdf-page .passage-box")).toHaveCount(1);
  await expect(page.locator("input[inputmode=numeric]")).toHaveValue("37");
  await expect(page.getByText("Highlight 1 of 1")).toBeVisible();
  await expect.poll(async () => (await overlap(page, "walrus")).covered).toBeGreaterThan(0.7);
  expect((await overlap(page, "walrus")).box).toBeGreaterThan(0.6);
  // Larger, and the box goes with the page.
  await page.keyboard.press("+");
  await expect.poll(async () => (await overlap(page, "walrus")).covered).toBeGreaterThan(0.7);
  await page.reload();
  await expect(page.locator(".pdf-page .passage-box")).toHaveCount(1);
});

test("pages that are turned, or of other sizes, have their boxes on the words", async ({ page }) => {
  const id = await uploaded("turned.pdf", [
    { lines: ["upright words here"] },
    { lines: ["turned to the right"], rotate: 90 },
    { lines: ["upside down words"], rotate: 180 },
    { lines: ["turned to the left"], rotate: 270 },
    { lines: ["a wide small sheet"], width: 500, height: 200 },
  ]);
  for (const words of ["upright words here", "turned to the right", "upside down words", "turned to the left", "a wide small sheet"]) {
    await page.goto(await addressOf(id, words));
    await expect(page.locator(".pdf-page .passage-box")).toHaveCount(1);
    await expect.poll(async () => (await overlap(page, words)).covered, { message: words }).toBeGreaterThan(0.6);
  }
});

test("a passage over two pages is two highlights, each in reach", async ({ page }) => {
  const id = await uploaded("two pages.pdf", [{ lines: ["It begins here"] }, { lines: ["and it ends there"] }]);
  const { pages } = await call<{ pages: { start: number; end: number }[] }>("GET", `/documents/${id}/text`);
  await page.goto(`/documents/view/?id=${id}&page=1&hl=1-2:${pages[0]?.start}-${pages[1]?.end}`);
  await expect(page.getByText("Highlight 1 of 2")).toBeVisible();
  await expect(page.locator(".pdf-page .passage-box")).toHaveCount(1);
  await page.getByRole("button", { name: "Next highlight" }).click();
  await expect(page.getByText("Highlight 2 of 2")).toBeVisible();
  await expect.poll(async () => (await overlap(page, "and it ends there")).covered).toBeGreaterThan(0.7);
  await page.getByRole("button", { name: "Previous highlight" }).click();
  await expect(page.getByText("Highlight 1 of 2")).toBeVisible();
  await page.keyboard.press("Shift+n");
  await expect(page.getByText("Highlight 2 of 2")).toBeVisible();
});

test("a document without pages has its passage marked in its text alone", async ({ page }) => {
  const content = Buffer.from("Only words, and no page.").toString("base64");
  const { documents } = await call<Uploaded>("POST", "/documents", { documents: [{ name: "plain.txt", content }] });
  const id = documents[0]?.document_id ?? "";
  await expect.poll(async () => (await call<{ state: string }>("GET", `/documents/${id}`)).state).toBe("extracted");
  await page.goto(`/documents/view/?id=${id}&page=1&hl=1-1:5-10`);
  await expect(page.getByRole("region", { name: "Text" }).locator("mark")).toHaveText("words");
  await expect(page.locator(".passage-box")).toHaveCount(0);
});
