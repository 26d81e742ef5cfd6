import type { Locator, Page } from "@playwright/test";

import { call, expect, test } from "./fixtures";

// Low, so that lists have to be scrolled.
test.use({ viewport: { width: 1440, height: 520 } });

const SENTENCES = Array.from(
  { length: 120 },
  (_, at) => `Heron ${at} stood in the reeds of pond ${at * 7} and waited for the water to clear.`,
);

/** Everything that these tests come back to, of their own: documents, one of them long, and knowledge bases. */
async function fill(): Promise<string> {
  const tag = await call<{ tag_id: string }>("POST", "/tags", { name: "herons" });
  const texts = Array.from({ length: 40 }, (_, at) => ({
    name: `place ${String(at).padStart(2, "0")}.txt`,
    content: Buffer.from(`Place ${at}.`).toString("base64"),
  }));
  await call("POST", "/documents", { documents: texts });
  await call("POST", "/documents", {
    documents: [{ name: "herons.txt", content: Buffer.from(SENTENCES.join("\n")).toString("base64"), tag_ids: [tag.tag_id] }],
  });
  for (let at = 0; at < 16; at += 1) await call("POST", "/knowledge-bases", { name: `place ${String(at).padStart(2, "0")}` });
  const { kb_id: id } = await call<{ kb_id: string }>("POST", "/knowledge-bases", {
    name: "place of herons",
    tag_ids: [tag.tag_id],
    chunk_size: 48,
    chunk_overlap: 0,
  });
  const chunkCount = async () => (await call<{ chunk_count: number }>("GET", `/knowledge-bases/${id}`)).chunk_count;
  await expect.poll(chunkCount, { timeout: 150_000 }).toBeGreaterThan(20);
  return id;
}

test.describe.configure({ mode: "serial" });

let kbId = "";
test.beforeAll(async () => {
  test.setTimeout(180_000);
  kbId = await fill();
});

function topOf(scroller: Locator): Promise<number> {
  return scroller.evaluate((element) => Math.round(element.scrollTop));
}

/** Scroll, and say where it came to. */
async function scrollTo(scroller: Locator, top: number): Promise<number> {
  await scroller.evaluate((element, wanted) => element.scrollTo({ top: wanted }), top);
  await expect.poll(() => topOf(scroller)).toBeGreaterThan(50);
  return topOf(scroller);
}

function listOf(page: Page, name: string): Locator {
  return page.getByRole("table", { name }).locator("..");
}

test("Back, Escape and the way up from a document lead to the list as it was left", async ({ page }) => {
  const address = "/documents/?q=place&type=text&sort=document_name&page=2&size=25";
  await page.goto(address);
  const list = listOf(page, "Documents");
  const row = page.getByRole("row", { name: /place 37\.txt/ });
  await expect(page.getByRole("row")).toHaveCount(16);
  const top = await scrollTo(list, 150);
  await row.getByRole("link").click();
  await expect(page.getByRole("heading", { name: "place 37.txt", level: 1 })).toBeVisible();
  await page.goBack();
  await expect(row).toHaveAttribute("data-cursor", "true");
  await expect(page).toHaveURL(address);
  await expect.poll(() => topOf(list)).toBe(top);

  for (const leave of [
    () => page.keyboard.press("Escape"),
    () => page.getByRole("banner").or(page.locator("header")).getByRole("link", { name: "Documents" }).click(),
  ]) {
    await page.keyboard.press("Enter");
    await expect(page.getByRole("heading", { name: "place 37.txt", level: 1 })).toBeVisible();
    await leave();
    await expect(row).toHaveAttribute("data-cursor", "true");
    await expect(page).toHaveURL(address);
    await expect.poll(() => topOf(list)).toBe(top);
  }

  await page.reload();
  await expect(page.getByRole("row")).toHaveCount(16);
  await expect.poll(() => topOf(list)).toBe(top);
  // What is opened anew begins at its top; so does another page, and Back leads to the first as it was.
  await page.getByRole("button", { name: "Previous page" }).click();
  await expect(page.getByRole("row")).toHaveCount(26);
  await expect.poll(() => topOf(list)).toBe(0);
  await page.goBack();
  await expect(page.getByRole("row")).toHaveCount(16);
  await expect.poll(() => topOf(list)).toBe(top);
});

test("documents are filtered by the type of their file", async ({ page }) => {
  await page.goto("/documents/?q=place");
  await expect(page.getByRole("row", { name: /place 39\.txt/ })).toBeVisible();
  await page.getByRole("button", { name: "Type" }).click();
  await page.getByRole("menuitemcheckbox", { name: "PDF" }).click();
  await expect(page.getByText("Nothing matches 2 filters")).toBeVisible();
  await page.getByRole("menuitemcheckbox", { name: "Text" }).click();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("button", { name: "Type: PDF or Text" })).toBeVisible();
  await expect(page.getByRole("row", { name: /place 39\.txt/ })).toBeVisible();
  await expect(page).toHaveURL(/type=pdf,text/);
  await page.reload();
  await expect(page.getByRole("button", { name: "Type: PDF or Text" })).toBeVisible();
  await page.getByRole("button", { name: /filters · Clear/ }).click();
  await expect(page).not.toHaveURL(/type=/);
});

test("knowledge bases and their chunks are where they were left", async ({ page }) => {
  await page.goto("/kbs/?q=place");
  const list = listOf(page, "Knowledge bases");
  await expect(page.getByRole("row")).toHaveCount(18);
  const top = await scrollTo(list, 120);
  await page.getByRole("link", { name: "place 12" }).click();
  await expect(page.getByRole("heading", { name: "place 12", level: 1 })).toBeVisible();
  await page.goBack();
  await expect(page).toHaveURL("/kbs/?q=place");
  await expect.poll(() => topOf(list)).toBe(top);

  await page.goto(`/kbs/view/?id=${kbId}&tab=chunks`);
  const chunks = page.getByRole("region", { name: "Chunks" });
  await expect(chunks.getByRole("listitem").first()).toBeVisible();
  await chunks.getByRole("listitem").nth(12).getByRole("button", { expanded: false }).click();
  await expect(page).toHaveURL(/chunk=/);
  const address = page.url();
  const left = await scrollTo(chunks, 700);
  for (const leave of [() => page.goBack(), () => page.keyboard.press("Escape")]) {
    await page.getByRole("complementary").getByRole("link", { name: "Open" }).click();
    await expect(page.getByRole("heading", { name: "herons.txt", level: 1 })).toBeVisible();
    await leave();
    await expect(page).toHaveURL(address);
    await expect.poll(() => topOf(chunks)).toBe(left);
  }
  await page.keyboard.press("Escape");
  await expect(page.getByRole("complementary")).toHaveCount(0);
});

test("the results of a search are where they were left", async ({ page }) => {
  await page.goto(`/search/?kb=${kbId}&q=heron+reeds`);
  const results = page.getByRole("region", { name: "Results" });
  const scroller = results.locator(":scope > div").last();
  await expect(results.getByRole("listitem").first()).toBeVisible();
  const top = await scrollTo(scroller, 200);
  for (const leave of [() => page.goBack(), () => page.keyboard.press("Escape")]) {
    await results.getByRole("link", { name: /^page/ }).last().click();
    await expect(page.getByRole("heading", { name: "herons.txt", level: 1 })).toBeVisible();
    await leave();
    await expect(results.getByRole("listitem").first()).toBeVisible();
    await expect(page).toHaveURL(/heron/);
    await expect.poll(() => topOf(scroller)).toBeGreaterThan(top - 1);
  }
});
