import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Locator, Page } from "@playwright/test";

import { call, expect, expectAccessible, test } from "./fixtures";

interface Listed {
  document_id: string;
  document_name: string;
  tag_ids: string[];
}

const textFile = (name: string, text = `The text of ${name}.`) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) });
const tray = (page: Page): Locator => page.getByRole("region", { name: "Uploads" });

async function choose(page: Page, button: Locator, files: ReturnType<typeof textFile>[]): Promise<void> {
  const choosing = page.waitForEvent("filechooser");
  await button.click();
  await (await choosing).setFiles(files);
}

async function chooseFirst(page: Page, files: ReturnType<typeof textFile>[]): Promise<void> {
  await choose(page, page.locator("header").getByRole("button", { name: "Upload" }), files);
}

async function pickTag(page: Page, name: string): Promise<void> {
  await tray(page).getByRole("button", { name: "Tags", exact: true }).click();
  await page.getByPlaceholder("Find a tag").fill(name);
  await page.getByRole("option", { name, exact: true }).click();
  await page.keyboard.press("Escape");
}

const makeTag = async (name: string) => (await call<{ tag_id: string }>("POST", "/tags", { name })).tag_id;

async function tagsByName(search: string): Promise<Record<string, string[]>> {
  const { documents } = await call<{ documents: Listed[] }>("GET", `/documents?name_search=${search}&limit=100`);
  return Object.fromEntries(documents.map((document) => [document.document_name, document.tag_ids]));
}

/** Uploads stop before the server until `release` is called. */
async function holdUploads(page: Page): Promise<() => void> {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  await page.route("**/documents", async (route) => {
    if (route.request().method() === "POST") await opened;
    await route.continue();
  });
  return open;
}

test("a second batch begins without tags, and leaves those of the first alone", async ({ page }) => {
  const engineering = await makeTag("upload engineering");
  const people = await makeTag("upload people");
  await page.goto("/documents/?q=batch-");
  const release = await holdUploads(page);
  await chooseFirst(
    page,
    Array.from({ length: 6 }, (_, at) => textFile(`batch-first-${at}.txt`)),
  );
  await pickTag(page, "upload engineering");
  await tray(page).getByRole("button", { name: "Upload 6 files" }).click();
  await choose(page, tray(page).getByRole("button", { name: "Add files" }), [textFile("batch-second.txt")]);
  await expect(tray(page).getByRole("button", { name: "Remove tag upload engineering" })).toHaveCount(0);
  await pickTag(page, "upload people");
  await tray(page).getByLabel("If the file already exists").selectOption("create");
  await tray(page).getByRole("button", { name: "Upload 1 file" }).click();
  await expect(tray(page).getByRole("group", { name: "6 files" })).toContainText("upload engineering");
  await expect(tray(page).getByRole("group", { name: "1 file", exact: true })).toContainText("upload people");
  release();
  await expect(tray(page).getByRole("heading")).toContainText("7 files sent");
  const tags = await tagsByName("batch-");
  for (let at = 0; at < 6; at += 1) expect(tags[`batch-first-${at}.txt`]).toEqual([engineering]);
  expect(tags["batch-second.txt"]).toEqual([people]);
});

test("a retried file has the tags of its own batch", async ({ page }) => {
  const first = await makeTag("retry first");
  await makeTag("retry second");
  await page.goto("/documents/?q=retried-");
  await page.route("**/documents", (route) =>
    route.request().method() === "POST"
      ? route.fulfill({
          status: 200,
          json: { documents: [{ document_id: null, outcome: "failed", error: { detail: "the disk is full" } }] },
        })
      : route.continue(),
  );
  await chooseFirst(page, [textFile("retried-one.txt")]);
  await pickTag(page, "retry first");
  await tray(page).getByRole("button", { name: "Upload 1 file" }).click();
  await expect(tray(page)).toContainText("The disk is full.");
  await page.unroute("**/documents");
  await choose(page, tray(page).getByRole("button", { name: "Add files" }), [textFile("retried-two.txt")]);
  await pickTag(page, "retry second");
  await tray(page).getByRole("button", { name: "Upload 1 file" }).click();
  await expect(tray(page).getByRole("heading")).toContainText("1 file sent, 1 failed");
  await tray(page).getByRole("button", { name: "Retry" }).click();
  await expect(tray(page).getByRole("heading")).toContainText("2 files sent");
  expect((await tagsByName("retried-"))["retried-one.txt"]).toEqual([first]);
});

test("a file that was uploaded before says which of its tags were not added, and takes them by one button", async ({ page }) => {
  const before = await makeTag("known before");
  const after = await makeTag("known after");
  const file = textFile("known.txt");
  await call("POST", "/documents", { documents: [{ name: file.name, content: file.buffer.toString("base64"), tag_ids: [before] }] });
  await page.goto("/documents/?q=known.txt");
  await chooseFirst(page, [file]);
  await pickTag(page, "known after");
  await tray(page).getByRole("button", { name: "Upload 1 file" }).click();
  const row = tray(page).getByRole("listitem").filter({ hasText: "known.txt" });
  await expect(row).toContainText("Already uploaded; tag known after not added.");
  await expectAccessible(page);
  expect((await tagsByName("known.txt"))["known.txt"]).toEqual([before]);
  await tray(page).getByRole("button", { name: "Add tag" }).click();
  await expect(row).toContainText("Already uploaded.");
  expect((await tagsByName("known.txt"))["known.txt"]?.toSorted()).toEqual([before, after].toSorted());
});

test("a closed tray keeps what was chosen, and shows the way back to it and to what is sent", async ({ page }) => {
  await makeTag("kept tag");
  await page.goto("/documents/?q=kept-");
  await chooseFirst(page, [textFile("kept-1.txt"), textFile("kept-2.txt")]);
  await pickTag(page, "kept tag");
  await tray(page).getByRole("button", { name: "Close uploads" }).click();
  const back = page.getByRole("navigation", { name: "Main" }).getByRole("button", { name: "2 files not sent" });
  await page.getByRole("link", { name: "Tags", exact: true }).click();
  await back.click();
  await expect(tray(page).getByRole("listitem")).toHaveCount(2);
  await expect(tray(page).getByRole("button", { name: "Remove tag kept tag" })).toBeVisible();
  const release = await holdUploads(page);
  await tray(page).getByRole("button", { name: "Upload 2 files" }).click();
  await tray(page).getByRole("button", { name: "Close uploads" }).click();
  await expect(page.getByRole("button", { name: "Sending 0 of 2" })).toBeVisible();
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByRole("button", { name: "Sending 0 of 2" }).click();
  await expect(tray(page).getByText("kept-1.txt")).toBeVisible();
  await tray(page).getByRole("button", { name: "Close uploads" }).click();
  release();
  await page.getByRole("button", { name: "2 files sent" }).click();
  await tray(page).getByRole("button", { name: "Close uploads" }).click();
  await expect(page.getByRole("button", { name: "2 files sent" })).toHaveCount(0);
});

test("a folder is uploaded with the folders in it", async ({ page }) => {
  const folder = join(mkdtempSync(join(tmpdir(), "ui-folder-")), "contracts");
  mkdirSync(join(folder, "2024"), { recursive: true });
  writeFileSync(join(folder, "folder-top.txt"), "The top.");
  writeFileSync(join(folder, "2024", "folder-inner.txt"), "The inside.");
  await page.goto("/documents/?q=folder");
  await chooseFirst(page, [textFile("folder-beside.txt")]);
  const choosing = page.waitForEvent("filechooser");
  await tray(page).getByRole("button", { name: "Add folder" }).click();
  await (await choosing).setFiles(folder);
  await expect(tray(page)).toContainText("contracts/2024/folder-inner.txt");
  await tray(page).getByRole("button", { name: "Upload 3 files" }).click();
  await expect(tray(page).getByRole("heading")).toContainText("3 files sent");
  expect(Object.keys(await tagsByName("folder-")).toSorted()).toEqual([
    "contracts/2024/folder-inner.txt",
    "contracts/folder-top.txt",
    "folder-beside.txt",
  ]);
  rmSync(folder, { recursive: true });
});
