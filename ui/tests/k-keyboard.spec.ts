import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { call, expect, test } from "./fixtures";

const AGREEMENT = readFileSync(join(__dirname, "..", "..", "analytiq", "cli", "samples", "service-agreement.pdf"));
const MOST_TABS = 60;
// Its own, so that a second try does not meet what the first one left.
const NAME = `typed ${randomBytes(3).toString("hex")}`;

/** What has the focus, as a screen reader would name it, and whether one sees that it has. */
async function focused(page: Page): Promise<{ name: string; isVisible: boolean }> {
  return page.evaluate(() => {
    const element = document.activeElement;
    if (!element || element === document.body) return { name: "", isVisible: true };
    const style = getComputedStyle(element);
    const { top, bottom, left, right } = element.getBoundingClientRect();
    const isInWindow = bottom > 0 && top < innerHeight && right > 0 && left < innerWidth;
    const isOutlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    const label = element instanceof HTMLInputElement || element instanceof HTMLSelectElement ? element.labels?.[0]?.textContent : null;
    // The field of a menu that opens shows it by its border and the caret; a scrolled region is outlined as well.
    const isTypedInto = element instanceof HTMLInputElement && style.caretColor !== "transparent";
    return {
      name: (element.getAttribute("aria-label") ?? label ?? element.textContent ?? "").trim(),
      isVisible: isInWindow && (isOutlined || isTypedInto),
    };
  });
}

/** Tab until what is wanted has the focus; on the way every stop has to be seen. */
async function tabTo(page: Page, wanted: RegExp, key = "Tab"): Promise<void> {
  const seen: string[] = [];
  for (let tabs = 0; tabs < MOST_TABS; tabs += 1) {
    await page.keyboard.press(key);
    const { name, isVisible } = await focused(page);
    expect(isVisible, `the focus is seen on “${name}”`).toBe(true);
    if (wanted.test(name)) return;
    seen.push(name);
  }
  throw new Error(`The focus does not come to ${wanted}, but to: ${seen.join(", ")}`);
}

test("a file is uploaded with a tag, found by a search, and its citation opened, by the keyboard alone", async ({ page }) => {
  test.setTimeout(180_000);
  const { tag_id: tagId } = await call<{ tag_id: string }>("POST", "/tags", { name: NAME });
  await call("POST", "/knowledge-bases", {
    name: NAME,
    tag_ids: [tagId],
    chunk_size: 96,
    chunk_overlap: 0,
    embedding_model: "local/all-minilm-l6-v2",
  });

  await page.goto("/documents/");
  await expect(page.getByRole("heading", { name: "Documents", level: 1 })).toBeVisible();
  const choosing = page.waitForEvent("filechooser");
  await tabTo(page, /^Upload$/);
  await page.keyboard.press("Enter");
  await (await choosing).setFiles([{ name: "typed.pdf", mimeType: "application/pdf", buffer: AGREEMENT }]);
  const tray = page.getByRole("region", { name: "Uploads" });
  await expect(tray.getByRole("heading")).toBeFocused();
  await tabTo(page, /^Tags$/);
  await page.keyboard.press("Enter");
  await expect(page.getByPlaceholder("Find a tag")).toBeFocused();
  await page.keyboard.type(NAME);
  await expect(page.getByRole("listbox").getByRole("option")).toHaveCount(1);
  await page.keyboard.press("Enter");
  await expect(tray.getByTitle(NAME, { exact: true })).toBeVisible();
  await page.keyboard.press("Escape");
  await tabTo(page, /^If the file already exists/);
  await page.keyboard.press("End");
  await tabTo(page, /^Upload 1 file$/);
  await page.keyboard.press("Enter");
  await expect(tray.getByText("Ready")).toBeVisible({ timeout: 60_000 });
  await tabTo(page, /^Close uploads$/, "Shift+Tab");
  await page.keyboard.press("Enter");
  await expect(tray).toBeHidden();

  await page.keyboard.press("g");
  await page.keyboard.press("s");
  await expect(page.getByRole("heading", { name: "Search tester", level: 1 })).toBeFocused();
  await page.keyboard.press("/");
  await page.keyboard.type("How much notice is needed to end the agreement?");
  await tabTo(page, /^Choose a knowledge base$/);
  await page.keyboard.press("Enter");
  await page.keyboard.type(NAME);
  await expect(page.getByRole("listbox").getByRole("option")).toHaveCount(1);
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  await tabTo(page, /^Search$/);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("listitem").filter({ hasText: "typed.pdf" }).first()).toContainText("ninety days");
  await tabTo(page, /^typed\.pdf/);
  await page.keyboard.press("Enter");
  await tabTo(page, /^Open/);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "typed.pdf", level: 1 })).toBeVisible();
  await expect(page.getByRole("region", { name: "Text" }).locator("mark").first()).toBeVisible();
  await expect(page.locator(".pdf-page .passage-box").first()).toBeVisible();
});

test("tags of a document are changed in its row by the keyboard, and the focus comes back to it", async ({ page }) => {
  const file = { name: `in a row of ${NAME}.txt`, content: Buffer.from(`Tagged by hand: ${NAME}`).toString("base64") };
  await call("POST", "/documents", { documents: [file] });
  const rowName = new RegExp(`in a row of ${NAME}`);
  await page.goto("/documents/?q=in+a+row+of");
  await expect(page.getByRole("row", { name: rowName })).toBeVisible();
  await tabTo(page, /^Tags of in a row of/);
  await page.keyboard.press("Enter");
  await page.keyboard.type(`${NAME} 2`);
  await expect(page.getByText(`Create tag “${NAME} 2”`)).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("row", { name: rowName })).toContainText(`${NAME} 2`);
  await page.keyboard.press("Escape");
  await expect.poll(async () => (await focused(page)).name).toMatch(/^Tags of in a row of/);
});
