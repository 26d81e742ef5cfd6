import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";

import type { BrowserContext, Page } from "@playwright/test";

import { call, connection, expect, expectAccessible, test } from "./fixtures";

/** A PDF of that many pages, each with a line of its own: long enough to be seen while it is read. */
function longPdf(pages: number): Buffer {
  const objects: string[] = [];
  const kids = Array.from({ length: pages }, (_, page) => `${4 + page * 2} 0 R`).join(" ");
  objects.push("<< /Type /Catalog /Pages 2 0 R >>");
  objects.push(`<< /Type /Pages /Kids [${kids}] /Count ${pages} >>`);
  objects.push("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>");
  for (let page = 0; page < pages; page += 1) {
    const lines = Array.from({ length: 20 }, () => `(Page ${page + 1} says ${randomBytes(24).toString("hex")}) Tj 0 -20 Td`);
    const text = `BT /F1 12 Tf 72 720 Td ${lines.join(" ")} ET`;
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + page * 2} 0 R >>`,
      `<< /Length ${text.length} >>\nstream\n${text}\nendstream`,
    );
  }
  let body = "%PDF-1.4\n";
  const places = objects.map((object, at) => {
    const place = body.length;
    body += `${at + 1} 0 obj\n${object}\nendobj\n`;
    return place;
  });
  const start = body.length;
  const entries = places.map((place) => `${String(place).padStart(10, "0")} 00000 n \n`).join("");
  body += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${entries}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`;
  return Buffer.from(body, "latin1");
}

/** What an operator types on the platform's machine. */
function operate(...command: string[]): void {
  const root = join(__dirname, "..", "..");
  const python = process.env.ANALYTIQ_PYTHON ?? join(root, ".venv", "bin", "python");
  execFileSync(python, ["-m", "analytiq.cli", ...command, "--data-dir", process.env.UI_TEST_DATA ?? ""], {
    cwd: root,
    env: { ...process.env, PYTHONPATH: root },
  });
}

async function upload(name: string, content: Buffer, tagIds: string[] = []): Promise<string> {
  const file = { name, content: content.toString("base64"), tag_ids: tagIds };
  const { documents } = await call<{ documents: { document_id: string }[] }>("POST", "/documents", {
    documents: [file],
    on_duplicate: "create",
  });
  return documents[0]?.document_id ?? "";
}

/** Calls to the list of documents that the page makes from now on. */
function countListCalls(page: Page): { lists: () => number } {
  let lists = 0;
  page.on("request", (request) => {
    if (/\/documents\?/.test(request.url())) lists += 1;
  });
  return { lists: () => lists };
}

function streamsOf(context: BrowserContext): { open: () => number } {
  let open = 0;
  context.on("request", (request) => {
    if (request.url().endsWith("/events")) open += 1;
  });
  context.on("requestfinished", (request) => {
    if (request.url().endsWith("/events")) open -= 1;
  });
  context.on("requestfailed", (request) => {
    if (request.url().endsWith("/events")) open -= 1;
  });
  return { open: () => open };
}

test("a document's state advances on screen without a refresh, pages counted", async ({ page }) => {
  test.setTimeout(180_000);
  await page.goto("/documents/?q=live-long");
  await expect(page.getByText("Nothing matches the filter")).toBeVisible();
  const labels = new Set<string>();
  await page.exposeFunction("noteState", (text: string) => labels.add(text));
  await page.evaluate(() => {
    const main = document.querySelector("main");
    const note = () =>
      (window as unknown as { noteState: (text: string) => void }).noteState(main?.querySelector("tbody")?.textContent ?? "");
    if (main) new MutationObserver(note).observe(main, { subtree: true, childList: true, characterData: true });
  });
  await upload("live-long.pdf", longPdf(1500));
  const row = page.getByRole("row", { name: /live-long\.pdf/ });
  await expect(row).toContainText("Not in a knowledge base", { timeout: 120_000 });
  expect(
    [...labels].some((text) => /Extracting [\d,]+ of 1,500/.test(text)),
    [...labels].join("\n"),
  ).toBe(true);
  await expectAccessible(page);
});

test("eight tabs share one connection, all follow it, and the API still answers", async ({ page, context }) => {
  const { organization_id: organizationId, token } = connection();
  await context.addInitScript((session) => sessionStorage.setItem("analytiq.session", session), JSON.stringify({ organizationId, token }));
  const streams = streamsOf(context);
  const id = await upload("live-tabs.txt", Buffer.from("Eight tabs."));
  const first = await context.newPage();
  const pages = [first, ...(await Promise.all(Array.from({ length: 6 }, () => context.newPage()))), page];
  for (const tab of pages) await tab.goto("/documents/?q=live-tabs");
  for (const tab of pages) await expect(tab.getByRole("row", { name: /live-tabs\.txt/ })).toContainText("Not in a knowledge base");
  expect(streams.open()).toBe(1);

  const tag = await call<{ tag_id: string }>("POST", "/tags", { name: "seen by all tabs" });
  await call("PUT", `/documents/${id}`, { tag_ids: [tag.tag_id] });
  for (const tab of pages)
    await expect(tab.getByRole("row", { name: /live-tabs\.txt/ }).getByRole("button", { name: /Tags of/ })).not.toContainText("Add tag");

  // The tab that has the connection is closed: another one takes over.
  await first.close();
  await expect.poll(streams.open).toBe(1);
  await call("PUT", `/documents/${id}`, { tag_ids: [] });
  for (const tab of pages.slice(1)) await expect(tab.getByRole("row", { name: /live-tabs\.txt/ })).toContainText("Add tag");
});

test("a document that waits for quota goes on by itself on screen", async ({ page }) => {
  const { organization_id: organizationId } = connection();
  const tag = await call<{ tag_id: string }>("POST", "/tags", { name: "rationed" });
  const provider = { api_base: process.env.UI_TEST_PROVIDER };
  await call("PUT", "/llm-providers/openai", { ...provider, api_key: "fake-secret-key-0123456789" });
  await call("POST", "/knowledge-bases", { name: "Rationed", tag_ids: [tag.tag_id], embedding_model: "openai/fake-embedding" });
  const quota = (...command: string[]) => operate("quota", ...command, "--organization", organizationId);
  quota("set", "0");
  try {
    await page.goto("/documents/?q=live-quota");
    await upload("live-quota.txt", Buffer.from("Nothing is left for this sentence."), [tag.tag_id]);
    const row = page.getByRole("row", { name: /live-quota\.txt/ });
    await page.getByRole("button", { name: /1 new/ }).or(row).first().click();
    await page.goto("/documents/?q=live-quota");
    await expect(row).toContainText("Waiting for quota");
    const calls = countListCalls(page);
    quota("lift");
    await expect(row).toContainText("Ready");
    expect(calls.lists()).toBeLessThanOrEqual(3);
  } finally {
    quota("lift");
  }
});

test("a network cut is told, and what happened meanwhile is there afterwards", async ({ browser }) => {
  const { organization_id: organizationId, token, url } = connection();
  const context = await browser.newContext({ baseURL: url });
  await context.addInitScript((session) => sessionStorage.setItem("analytiq.session", session), JSON.stringify({ organizationId, token }));
  const page = await context.newPage();
  const id = await upload("live-cut.txt", Buffer.from("Cut off."));
  await page.goto("/documents/?q=live-cut");
  const row = page.getByRole("row", { name: /live-cut\.txt/ });
  await expect(row).toContainText("Not in a knowledge base");
  await context.route("**/events", (route) => route.abort());
  await page.reload();
  await expect(row).toContainText("Not in a knowledge base");
  await expect(page.getByText("Reconnecting…")).toBeVisible();
  await call("DELETE", `/documents/${id}`);
  const again = await upload("live-cut-2.txt", Buffer.from("Cut off, twice."));
  expect(again).not.toBe(id);
  await context.unroute("**/events");
  await expect(page.getByText("Reconnecting…")).toBeHidden();
  await expect(page.getByRole("button", { name: /1 new/ })).toBeVisible();
  await context.close();
});

test("fifty dropped files each show progress and result, and a bad one leaves the others ready", async ({ page }) => {
  test.setTimeout(180_000);
  await page.goto("/documents/?q=drop-");
  const names = Array.from({ length: 50 }, (_, at) => (at === 17 ? "drop-bad.pdf" : `drop-${String(at).padStart(2, "0")}.txt`));
  const drop = await page.evaluateHandle((files) => {
    const transfer = new DataTransfer();
    for (const name of files) {
      const text = name.endsWith(".pdf") ? "%PDF-1.7 nothing that can be read" : `The text of ${name}.`;
      transfer.items.add(new File([text], name));
    }
    return transfer;
  }, names);
  // A page that came before its script takes no drop yet.
  await expect(async () => {
    await page.dispatchEvent("body", "dragenter", { dataTransfer: drop });
    await expect(page.getByText("Drop to upload")).toBeVisible({ timeout: 1000 });
  }).toPass({ timeout: 20_000 });
  await page.dispatchEvent("body", "drop", { dataTransfer: drop });
  const tray = page.getByRole("region", { name: "Uploads" });
  await expect(tray.getByRole("listitem")).toHaveCount(50);
  await tray.getByRole("button", { name: "Upload 50 files" }).click();
  await expect(tray.getByRole("heading")).toContainText("50 files sent", { timeout: 60_000 });
  await expect(tray.getByText("Not in a knowledge base")).toHaveCount(49, { timeout: 120_000 });
  const bad = tray.getByRole("listitem").filter({ hasText: "drop-bad.pdf" });
  await expect(bad).toContainText(/damaged|broken|read/i);
  await expectAccessible(page);
});

test("leaving while files are sent is warned of", async ({ page }) => {
  await page.goto("/documents/?q=never");
  await page.route("**/documents", (route) => (route.request().method() === "POST" ? undefined : route.continue()));
  const choosing = page.waitForEvent("filechooser");
  await page.locator("header").getByRole("button", { name: "Upload" }).click();
  await (await choosing).setFiles([{ name: "never.txt", mimeType: "text/plain", buffer: Buffer.from("Never sent.") }]);
  const tray = page.getByRole("region", { name: "Uploads" });
  await tray.getByRole("button", { name: "Upload 1 file" }).click();
  await expect(tray.getByRole("heading")).toContainText("Sending");
  const asked = page.waitForEvent("dialog");
  const leaving = page.close({ runBeforeUnload: true });
  const dialog = await asked;
  expect(dialog.type()).toBe("beforeunload");
  await dialog.accept();
  await leaving;
});

test("lists are asked for seldom while nothing happens", async ({ page }) => {
  await upload("live-quiet.txt", Buffer.from("Nothing happens."));
  await page.goto("/documents/?q=live-quiet");
  await expect(page.getByRole("row", { name: /live-quiet\.txt/ })).toContainText("Not in a knowledge base");
  // What the navigation asks for every 20 s measures the time.
  const nextCount = () => page.waitForResponse(/\/jobs\?.*state=dead/, { timeout: 60_000 });
  await nextCount();
  const calls = countListCalls(page);
  await nextCount();
  expect(calls.lists()).toBeLessThanOrEqual(1);
});

test("a page of documents is one call: no row asks for itself", async ({ page }) => {
  const tag = await call<{ tag_id: string }>("POST", "/tags", { name: "one call" });
  await call("POST", "/knowledge-bases", { name: "One call", tag_ids: [tag.tag_id], embedding_model: "local/all-minilm-l6-v2" });
  const ids = [await upload("live-one-1.txt", Buffer.from("One."), [tag.tag_id]), await upload("live-one-2.txt", Buffer.from("Two."))];
  const calls: string[] = [];
  page.on("request", (request) => calls.push(new URL(request.url()).pathname));
  await page.goto("/documents/?q=live-one-");
  const first = page.getByRole("row", { name: /live-one-1\.txt/ });
  await expect(first).toContainText("Ready");
  await expect(first).toContainText("1 of 1");
  await expect(page.getByRole("row", { name: /live-one-2\.txt/ })).toContainText("Not in a knowledge base");
  expect(calls.filter((path) => ids.some((id) => path.includes(id)))).toEqual([]);
});

test("all that match are tagged, and Undo takes the tag off exactly these", async ({ page }) => {
  test.setTimeout(180_000);
  const documents = Array.from({ length: 620 }, (_, at) => ({
    name: `bulk-${at}.txt`,
    content: Buffer.from(`Bulk ${at}`).toString("base64"),
  }));
  const { documents: made } = await call<{ documents: { document_id: string }[] }>("POST", "/documents", { documents });
  const tag = await call<{ tag_id: string }>("POST", "/tags", { name: "bulk tag" });
  await call("POST", "/documents/changes", { document_ids: made.slice(0, 20).map((item) => item.document_id), add_tag_ids: [tag.tag_id] });
  const tagged = async () => (await call<{ total_count: number }>("GET", `/documents?tag_ids=${tag.tag_id}&limit=1`)).total_count;
  await page.goto("/documents/?q=bulk-&size=25");
  await expect(page.getByText("1–25 of 620")).toBeVisible();
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  const selection = page.getByRole("region", { name: "Selection" });
  await selection.getByRole("button", { name: "Select all 620 matching" }).click();
  await expect(selection).toContainText("620 selected");
  // The last one that was made: it has no tag yet.
  await page.getByRole("checkbox", { name: "Select bulk-619.txt" }).uncheck();
  await expect(selection).toContainText("619 selected");
  await selection.getByRole("button", { name: "Tags…" }).click();
  await page.getByPlaceholder("Find a tag").fill("bulk tag");
  await page.getByRole("option", { name: "bulk tag" }).click();
  await expect(page.getByText("599 changed")).toBeVisible({ timeout: 60_000 });
  expect(await tagged()).toBe(619);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Undo" }).first().click();
  await expect.poll(tagged).toBe(20);
});

test("metadata is edited by its declared types, for one document and for many", async ({ page }) => {
  await call("PUT", "/metadata-fields", { fields: { due: "date", amount: "number" } });
  const id = await upload("meta-one.txt", Buffer.from("One."));
  await upload("meta-two.txt", Buffer.from("Two."));
  await page.goto(`/documents/view/?id=${id}&tab=details`);
  await page.getByRole("button", { name: "Add", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name of new field").fill("amount");
  await expect(dialog.getByLabel("Type of amount")).toHaveValue("number");
  await dialog.getByLabel("Value of amount").fill("many");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog.getByRole("alert")).toContainText("Enter a number.");
  await dialog.getByLabel("Value of amount").fill("12.5");
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog).toBeHidden();
  await expect(page.getByRole("definition").filter({ hasText: "12.5" })).toBeVisible();

  await page.goto("/documents/?q=meta-");
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  await page.getByRole("button", { name: "Metadata…" }).click();
  await dialog.getByLabel("Name of new field").fill("due");
  await dialog.getByLabel("Value of due").fill("2026-05-01");
  await dialog.getByRole("button", { name: "Set on 2 documents" }).click();
  await expect(page.getByText("2 changed")).toBeVisible();
  const one = await call<{ metadata: Record<string, unknown> }>("GET", `/documents/${id}`);
  expect(one.metadata).toEqual({ amount: 12.5, due: "2026-05-01T00:00:00.000Z" });
  await call("PUT", "/metadata-fields", { fields: {} });
});

test("documents are filtered by any or none of their tags and by when they were added, and the address keeps it", async ({ page }) => {
  const first = await call<{ tag_id: string }>("POST", "/tags", { name: "filtered first" });
  const second = await call<{ tag_id: string }>("POST", "/tags", { name: "filtered second" });
  await upload("filtered-1.txt", Buffer.from("1"), [first.tag_id]);
  await upload("filtered-2.txt", Buffer.from("2"), [second.tag_id]);
  await upload("filtered-3.txt", Buffer.from("3"));
  const rows = page.locator("tbody tr:not([aria-hidden])");
  await page.goto(`/documents/?q=filtered-&tags=${first.tag_id},${second.tag_id}`);
  await expect(page.getByText("Nothing matches 3 filters")).toBeVisible();
  await page.getByLabel("How tags must match").selectOption("any");
  await expect(rows).toHaveCount(2);
  await page.getByLabel("How tags must match").selectOption("none");
  await expect(rows).toHaveCount(1);
  await expect(rows).toContainText("filtered-3.txt");
  await page.getByRole("search").getByRole("button", { name: "Added" }).click();
  await page.getByLabel("Until (inclusive)").fill("2020-01-01");
  await expect(page.getByText(/Nothing matches 4 filters/)).toBeVisible();
  await page.getByLabel("Until (inclusive)").fill(new Date().toLocaleDateString("sv-SE"));
  await expect(rows).toHaveCount(1);
  await expect(page).toHaveURL(/tagop=none/);
  await page.reload();
  await expect(rows).toHaveCount(1);
});
