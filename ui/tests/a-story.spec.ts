import { readFileSync } from "node:fs";
import { join } from "node:path";

import { call, connection, expect, expectAccessible, test } from "./fixtures";

const SAMPLES = join(__dirname, "..", "..", "analytiq", "cli", "samples");
const sample = (name: string) => ({ name, mimeType: "application/octet-stream", buffer: readFileSync(join(SAMPLES, name)) });

test("a pasted connection.json signs in, and a wrong token says so", async ({ visitor }) => {
  const { organization_id: organizationId, token } = connection();
  await visitor.goto("/documents/?sort=document_name");
  await expect(visitor).toHaveURL(/\/sign-in\/\?next=/);
  await visitor.getByRole("button", { name: "Use an access token" }).click();
  await visitor.getByLabel("Organization id").fill(organizationId);
  await visitor.getByLabel("Access token").fill("aq_wrong");
  await visitor.getByRole("button", { name: "Sign in", exact: true }).click();
  await expect(visitor.locator("form").getByRole("alert")).toContainText("does not open this organization");
  await visitor.getByLabel("Access token").fill(token);
  await visitor.getByRole("button", { name: "Sign in", exact: true }).click();
  await expect(visitor).toHaveURL(/\/documents\/\?sort=document_name/);
  await expect(visitor.getByRole("heading", { name: "Documents", level: 1 })).toBeVisible();
});

test("an empty organization says what to do first", async ({ page }) => {
  await page.goto("/documents/");
  await expect(page.getByText("No documents yet. Drop files anywhere.")).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Dismiss these steps" }).click();
  await expect(page.getByText("Create a knowledge base")).toHaveCount(0);
  await page.reload();
  await expect(page.getByText("No documents yet. Drop files anywhere.")).toBeVisible();
  await expect(page.getByText("Create a knowledge base")).toHaveCount(0);
});

test("files are uploaded with a new tag, a bad one fails alone, and the others become searchable", async ({ page }) => {
  await page.goto("/documents/");
  const choosing = page.waitForEvent("filechooser");
  await page.getByRole("banner").or(page.locator("header")).getByRole("button", { name: "Upload" }).click();
  await (
    await choosing
  ).setFiles([
    sample("service-agreement.pdf"),
    sample("pump-manual.md"),
    { name: "broken.pdf", mimeType: "application/pdf", buffer: Buffer.from("%PDF-1.7 nothing that can be read") },
  ]);
  const tray = page.getByRole("region", { name: "Uploads" });
  await tray.getByRole("button", { name: "Tags" }).click();
  await page.getByPlaceholder("Find a tag").fill("contracts");
  await page.getByText("Create tag “contracts”").click();
  await expect(tray.getByTitle("contracts")).toBeVisible();
  await page.keyboard.press("Escape");
  await tray.getByRole("button", { name: "Upload 3 files" }).click();
  await expect(tray.getByText("Not in a knowledge base")).toHaveCount(2);
  await expect(tray.getByRole("listitem").filter({ hasText: "broken.pdf" })).toContainText(/damaged|broken|read/i);
  await tray.getByRole("button", { name: "Close uploads" }).click();
  await expect(page.getByRole("row")).toHaveCount(4);
  const steps = page.getByRole("region", { name: "First steps" });
  await expect(steps.getByRole("listitem").filter({ hasText: "(done)" })).toHaveText([/^Upload/, /^Tag/]);
  await page.reload();
  await expect(steps.getByRole("link", { name: "Create a knowledge base" })).toBeVisible();
  await expect(page.getByRole("row", { name: /broken\.pdf/ })).toContainText("File is damaged");

  await page.getByRole("link", { name: "Knowledge bases" }).first().click();
  await page.getByRole("link", { name: "New knowledge base" }).first().click();
  await expect(page.getByRole("heading", { name: "New knowledge base", level: 1 })).toBeVisible();
  await page.getByLabel("Name", { exact: true }).fill("Contracts");
  await page.getByRole("button", { name: "Tag", exact: true }).click();
  await page.getByRole("option", { name: "contracts" }).click();
  await page.keyboard.press("Escape");
  await expect(page.getByText("3 documents match")).toBeVisible();
  await page.getByLabel("Chunk size, tokens").fill("96");
  await page.getByLabel("Overlap, tokens").fill("0");
  await page.getByRole("button", { name: "Create" }).click();
  await expect(page.getByRole("heading", { name: "Contracts", level: 1 })).toBeVisible();
  await expect(page.getByRole("row", { name: /service-agreement\.pdf/ })).toContainText("Ready");
  await expect(page.getByRole("row", { name: /pump-manual\.md/ })).toContainText("Ready");
});

test("a damaged file says what is wrong with it, and the rest of its page is there", async ({ page }) => {
  await page.goto("/documents/?q=broken");
  await page.getByRole("link", { name: "broken.pdf" }).click();
  await expect(page.getByText("The page could not be displayed.")).toBeVisible();
  await expect(page.getByRole("heading", { name: "broken.pdf", level: 1 })).toBeVisible();
  await expect(page.getByText("File is damaged.")).toBeVisible();
});

test("an address of a page that a list does not have leads to its last", async ({ page }) => {
  await page.goto("/tags/?page=9");
  await expect(page).toHaveURL(/\/tags\/$/);
  await expect(page.getByRole("row", { name: /contracts/ })).toBeVisible();
});

test("a search finds the passage, its page opens with the words marked, and the URL brings both back", async ({ page }) => {
  await page.goto("/search/");
  await page.getByLabel("Question").fill("How much notice is needed to end the agreement?");
  await page.getByRole("button", { name: "Search", exact: true }).click();
  const first = page.getByRole("listitem").filter({ hasText: "service-agreement.pdf" }).first();
  await expect(first).toContainText("ninety days");
  await expect(first).toContainText(/page 3|pages 2–3/);
  await first.getByRole("button", { name: "service-agreement.pdf" }).click();
  const beside = page.getByRole("complementary");
  await expect(beside.locator(".pdf-page .passage-box").first()).toBeVisible();
  await beside.getByRole("link", { name: "Open" }).click();
  await expect(page.getByRole("heading", { name: "service-agreement.pdf", level: 1 })).toBeVisible();
  await expect(page.getByText(/Highlight 1 of [12]/)).toBeVisible();
  await expect(page.getByRole("region", { name: "Text" }).locator("mark").first()).toBeVisible();
  await expect(page.locator(".pdf-page .passage-box").first()).toBeVisible();
  await page.reload();
  await expect(page.getByLabel("Page", { exact: true }).or(page.locator("input[inputmode=numeric]")).first()).toHaveValue(/[23]/);
  await expect(page.getByRole("region", { name: "Text" }).locator("mark").first()).toBeVisible();
  await page.goBack();
  await expect(page.getByLabel("Question")).toHaveValue("How much notice is needed to end the agreement?");
  await expect(first).toContainText("ninety days");
});

test("one URL restores a comparison, and a missing document is explained", async ({ page }) => {
  const { knowledge_bases: bases } = await call<{ knowledge_bases: { kb_id: string }[] }>("GET", "/knowledge-bases");
  const filter = encodeURIComponent('{"document_name":{"$eq":"pump-manual.md"}}');
  await page.goto(`/search/?kb=${bases[0]?.kb_id}&q=ninety+days+notice&a=hybrid&b=lexical,k=3&f=${filter}`);
  await expect(page.getByRole("region", { name: "Results A" })).toContainText("pump-manual.md");
  await expect(page.getByRole("button", { name: "Configuration B" })).toContainText("keywordtop 3");
  await page.getByRole("button", { name: "Ask why it is missing" }).first().click();
  await page.getByLabel("Which document?").fill("service");
  await page.getByRole("button", { name: "service-agreement.pdf" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("is not found");
  await expect(dialog.getByRole("listitem").filter({ hasText: "Passes the filter" })).toContainText(": no");
});

test("the list sorts, filters and selects by the keyboard, and tags can be undone", async ({ page }) => {
  await page.goto("/documents/?sort=document_name");
  await expect(page.getByRole("row").nth(1)).toContainText("broken.pdf");
  await page.keyboard.press("/");
  await page.keyboard.type("pump");
  await expect(page.getByRole("row")).toHaveCount(2);
  await expect(page).toHaveURL(/q=pump/);
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  const selection = page.getByRole("region", { name: "Selection" });
  await expect(selection).toContainText("1 selected");
  await page.keyboard.press("t");
  await page.getByPlaceholder("Find a tag").fill("manuals");
  await page.getByText("Create tag “manuals”").click();
  await expect(page.getByText("1 changed")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("row", { name: /pump-manual\.md/ })).toContainText("manuals");
  await page.getByRole("button", { name: "Undo" }).first().click();
  await expect(page.getByRole("row", { name: /pump-manual\.md/ })).not.toContainText("manuals");
});

test("a job that was given up is found by its number and replayed from the keyboard", async ({ page }) => {
  test.setTimeout(180_000);
  const provider = { api_base: process.env.UI_TEST_PROVIDER };
  await call("PUT", "/llm-providers/openai", { ...provider, api_key: "fake-secret-key-0123456789" });
  const tag = await call<{ tag_id: string }>("POST", "/tags", { name: "refused" });
  await call("POST", "/knowledge-bases", { name: "Remote", tag_ids: [tag.tag_id], embedding_model: "openai/fake-embedding" });
  await call("PUT", "/llm-providers/openai", { ...provider, api_key: "a-key-that-is-not-valid" });
  const file = { name: "remote.txt", content: Buffer.from("Embedded elsewhere.").toString("base64"), tag_ids: [tag.tag_id] };
  await call("POST", "/documents", { documents: [file] });

  await page.goto("/documents/?q=remote");
  await expect(page.getByRole("row", { name: /remote\.txt/ })).toContainText("Indexing failed", { timeout: 60_000 });
  await expect(page.getByRole("navigation").getByText(/1 failed jobs?/)).toBeVisible({ timeout: 30_000 });
  await page.keyboard.press("g");
  await page.keyboard.press("o");
  await expect(page.getByRole("heading", { name: "Operations", level: 1 })).toBeFocused();
  await expect(page.getByRole("row", { name: /remote\.txt in Remote/ })).toContainText("Failed");
  await expectAccessible(page);
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toContainText("Attempt");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);

  await page.keyboard.press("r");
  await expect(page.getByText("Job queued again")).toBeVisible();
  // A good key resumes what failed for its lack, so the replay has to come first.
  await call("PUT", "/llm-providers/openai", { ...provider, api_key: "fake-secret-key-0123456789" });
  await page.goto("/documents/?q=remote");
  await expect(page.getByRole("row", { name: /remote\.txt/ })).toContainText("Ready", { timeout: 60_000 });
});

test("usage counts what was charged, and a token is shown once", async ({ page }) => {
  await page.goto("/usage/");
  await expect(page.getByText("SPUs charged")).toBeVisible();
  await expect(page.getByRole("row", { name: /Contracts/ })).toBeVisible();
  await page.goto("/settings/tokens/");
  await page.getByRole("button", { name: "New token" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("nightly import");
  await page.getByRole("button", { name: "Create token" }).click();
  await expect(page.getByRole("textbox", { name: "Access token" })).toHaveValue(/^aq_/);
  await page.getByRole("button", { name: "Done" }).click();
  await expect(page.getByRole("row", { name: /nightly import/ })).toContainText("Valid");
  await page.getByRole("button", { name: "Revoke nightly import" }).click();
  await page.getByRole("button", { name: "Revoke token" }).click();
  await expect(page.getByRole("row", { name: /nightly import/ })).toContainText("Revoked");
});
