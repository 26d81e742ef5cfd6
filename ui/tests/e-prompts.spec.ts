import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { call, connection, expect, expectAccessible, test } from "./fixtures";

const AGREEMENT = readFileSync(join(__dirname, "..", "..", "analytiq", "cli", "samples", "service-agreement.pdf"));
const OTHER_PROVIDER = { api_base: process.env.UI_TEST_PROVIDER, api_key: "fake-secret-key-0123456789" };
const CHAT = { api_base: process.env.UI_TEST_CHAT, api_key: "fake-chat-key-0123456789" };
const LOCAL_MODEL = "local/all-minilm-l6-v2";
const PASSWORD = "correct horse battery";

interface Step {
  say?: string;
  tool_calls?: { name: string; arguments: object }[];
  is_slow?: boolean;
  fail?: number;
}

/** What the fake chat model says to the next calls, in order. */
async function script(...steps: Step[]): Promise<void> {
  await fetch(new URL("/script", process.env.UI_TEST_CHAT), { method: "POST", body: JSON.stringify(steps) });
}

async function release(): Promise<void> {
  await fetch(new URL("/release", process.env.UI_TEST_CHAT), { method: "POST" });
}

test.beforeAll(async () => {
  await call("PUT", "/llm-providers/openai", CHAT);
  // After a failure a new process prepares again what is there already.
  if ((await call<{ total_count: number }>("GET", "/tags?name_search=agreements")).total_count > 0) return;
  const tag = await call<{ tag_id: string }>("POST", "/tags", { name: "agreements" });
  await call("POST", "/knowledge-bases", {
    name: "Agreements",
    tag_ids: [tag.tag_id],
    chunk_size: 96,
    chunk_overlap: 0,
    embedding_model: LOCAL_MODEL,
  });
  const { documents } = await call<{ documents: { document_id: string }[] }>("POST", "/documents", {
    documents: [{ name: "agreement-7.pdf", content: AGREEMENT.toString("base64"), tag_ids: [tag.tag_id] }],
  });
  await expect
    .poll(
      async () =>
        (
          await call<{ knowledge_bases: { is_searchable: boolean }[] }>("GET", `/documents/${documents[0]?.document_id}`)
        ).knowledge_bases.map((base) => base.is_searchable),
      { timeout: 45_000 },
    )
    .toEqual([true]);
});

test.afterAll(async () => {
  await call("PUT", "/llm-providers/openai", OTHER_PROVIDER);
});

async function runOnTheAgreement(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Run", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Find documents by name").fill("agreement-7");
  await dialog.getByRole("checkbox", { name: /agreement-7\.pdf/ }).check();
}

test("a prompt with fields is made with the schema builder, and an unsaved one is not lost to a click", async ({ page }) => {
  await page.goto("/prompts/");
  await expect(page.getByText("No prompts yet")).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("link", { name: "New prompt" }).first().click();
  await page.getByLabel("Name", { exact: true }).fill("Notice");
  await page.getByRole("link", { name: "Tags" }).first().click();
  await expect(page.getByRole("dialog")).toContainText("Leave without saving?");
  await page.getByRole("button", { name: "Cancel" }).click();

  await page
    .getByLabel("Text", { exact: false })
    .and(page.locator("textarea"))
    .first()
    .fill("How much notice is needed?\nSay where it says so.");
  await page.getByRole("button", { name: /^Model/ }).click();
  await page.getByPlaceholder("Find a model").fill("fake-chat");
  await page.getByRole("option", { name: "openai/fake-chat", exact: true }).click();
  await page.getByRole("radio", { name: "Fields" }).check();
  await page.getByRole("button", { name: "Save the prompt" }).click();
  await expect(page.getByText("Enter a field name.").first()).toBeVisible();
  await page.getByLabel("Field name").fill("notice_days");
  await page.getByLabel("Type").selectOption("integer");
  await page.getByLabel("Description for the model").fill("Days before the end");
  await page.getByRole("button", { name: "Add a field", exact: true }).click();
  await page.getByLabel("Field name").nth(1).fill("notice_days");
  await expect(page.getByText("Another field has the name “notice_days”.", { exact: true })).toBeVisible();
  await page.getByLabel("Field name").nth(1).fill("sources");
  await page.getByRole("checkbox", { name: "List of values" }).nth(1).check();
  await page.getByRole("button", { name: "JSON", exact: true }).click();
  const json = page.getByLabel("JSON schema of an object");
  await expect(json).toHaveValue(/"sources": \{\s+"type": "array"/);
  const schema = JSON.parse(await json.inputValue()) as { properties: Record<string, object> };
  await json.fill("{");
  await expect(page.getByText(/^This is not JSON/)).toBeVisible();
  await json.fill(JSON.stringify({ ...schema, description: "Of the agreement" }));
  await page.getByRole("button", { name: "Builder" }).click();
  await page.getByLabel("Knowledge base").selectOption({ label: "Agreements" });
  await expectAccessible(page);
  await page.getByRole("button", { name: "Save the prompt" }).click();
  await expect(page.getByRole("heading", { name: "Notice", level: 1 })).toBeVisible();
  await page.reload();
  await expect(page.getByLabel("Field name").first()).toHaveValue("notice_days");
  await expect(page.getByLabel("Type").first()).toHaveValue("integer");
  await expect(page.getByRole("button", { name: "Save as version 2" })).toBeDisabled();
});

// Not the `page` that complains of whatever the console says: a browser logs each refusal.
test("a schema that the server refuses is told at its field", async ({ visitor }) => {
  const { organization_id: organizationId, token } = connection();
  await visitor.addInitScript((session) => sessionStorage.setItem("analytiq.session", session), JSON.stringify({ organizationId, token }));
  await visitor.goto("/prompts/new/");
  await visitor.getByLabel("Name", { exact: true }).fill("Refused");
  await visitor.locator("textarea").first().fill("Say yes.");
  await visitor.getByRole("radio", { name: "Fields" }).check();
  await visitor.getByRole("button", { name: "JSON", exact: true }).click();
  const code = { type: "string", pattern: "(?=x)" };
  await visitor
    .getByLabel("JSON schema of an object")
    .fill(JSON.stringify({ type: "object", properties: { name: { type: "string" }, code } }));
  await visitor.getByRole("button", { name: "Builder" }).click();
  await visitor.getByRole("button", { name: "Save the prompt" }).click();
  const refused = visitor.getByRole("listitem").filter({ has: visitor.getByLabel("Remove code") });
  await expect(refused.getByRole("alert")).toContainText("cannot be checked in linear time");
  await expect(
    visitor
      .getByRole("listitem")
      .filter({ has: visitor.getByLabel("Remove name") })
      .getByRole("alert"),
  ).toHaveCount(0);
  await expect(visitor.getByText("The answer schema is not valid. The problems are shown below.")).toBeVisible();
});

test("it runs on a chosen document, and its steps lead to the page", async ({ page }) => {
  await script(
    { tool_calls: [{ name: "search_knowledge_base", arguments: { query: "notice to end the agreement", top_k: 2 } }] },
    { say: '{"notice_days": 30, "sources": ["The agreement [1]"]}', is_slow: true },
  );
  await page.goto("/prompts/");
  await page.getByRole("link", { name: "Notice" }).click();
  await runOnTheAgreement(page);
  await expectAccessible(page);
  await page.getByRole("button", { name: "Run on 1 document" }).click();
  await expect(page.getByRole("row", { name: /agreement-7\.pdf/ }).first()).toContainText("Running");
  await page.getByRole("link", { name: "agreement-7.pdf" }).first().click();
  await expect(page.getByText("search_knowledge_base found 2 passages")).toBeVisible();
  await expect(page.getByText("notice to end the agreement")).toBeVisible();
  await release();
  await expect(page.getByRole("heading", { name: "Answer", exact: true })).toBeVisible();
  await expect(page.getByText("price unknown")).toBeVisible();
  await expectAccessible(page);
  await page
    .getByRole("link", { name: /^Citation 1: agreement-7\.pdf/ })
    .first()
    .click();
  await expect(page.getByRole("heading", { name: "agreement-7.pdf", level: 1 })).toBeVisible();
  await expect(page.getByRole("region", { name: "Text" }).locator("mark").first()).toBeVisible();
});

test("a result is corrected, verified and exported, and a re-run says what it replaces", async ({ page }) => {
  await page.goto("/prompts/");
  await page.getByRole("link", { name: "Notice" }).click();
  await page.getByRole("link", { name: "Results" }).click();
  await page.getByRole("button", { name: "agreement-7.pdf" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("notice_days").fill("ninety");
  await expect(dialog.getByText("This is not a number.")).toBeVisible();
  await dialog.getByLabel("notice_days").fill("90");
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Save and verify" }).click();
  await expect(dialog.getByText("Verified", { exact: true })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("row", { name: /agreement-7\.pdf/ })).toContainText("Verified90");
  await page.getByLabel("State").selectOption("open");
  await expect(page.getByText("No results in this state")).toBeVisible();
  await page.getByLabel("State").selectOption("verified");

  const csv = page.waitForEvent("download");
  await page.getByRole("button", { name: "CSV" }).click();
  const lines = readFileSync(await (await csv).path(), "utf8")
    .trim()
    .split(/\r?\n/);
  expect(lines[0]).toMatch(/document_name.*notice_days,sources$/);
  expect(lines[1]).toMatch(/agreement-7\.pdf.*,90,/);
  const json = page.waitForEvent("download");
  await page.getByRole("button", { name: "JSON" }).click();
  expect(JSON.parse(readFileSync(await (await json).path(), "utf8"))).toMatchObject([{ is_verified: true, answer: { notice_days: 90 } }]);

  await script({ say: '{"notice_days": 60, "sources": []}' });
  await runOnTheAgreement(page);
  await expect(page.getByRole("dialog")).toContainText("1 document already has an answer from version 1, 1 of them verified");
  await page.getByRole("button", { name: "Run on 1 document" }).click();
  await expect(page.getByRole("row", { name: /agreement-7\.pdf/ }).first()).toContainText("Answered");
  await page.getByRole("link", { name: "Results" }).click();
  await expect(page).toHaveURL(/tab=results/);
  await expect(page.getByRole("row", { name: /agreement-7\.pdf/ })).toHaveCount(1);
  await expect(page.getByRole("row", { name: /agreement-7\.pdf/ })).toContainText("Not verified60");
  await page.getByRole("button", { name: "agreement-7.pdf" }).click();
  await page.getByText("Earlier answers (1)").click();
  await expect(page.getByRole("dialog").getByRole("listitem")).toContainText("90");
});

test("a run that fails says what to do, and one that takes too long is cancelled", async ({ page }) => {
  await script({ say: "no JSON" }, { say: "still none" });
  await page.goto("/prompts/");
  await page.getByRole("link", { name: "Notice" }).click();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("radio", { name: "On a text" }).check();
  await page.getByRole("dialog").getByLabel("Text", { exact: false }).and(page.locator("textarea")).fill("Ninety days.");
  await page.getByRole("button", { name: "Run on the text" }).click();
  await expect(page.getByRole("heading", { name: "Run on a text", level: 1 })).toBeVisible();
  await expect(page.getByRole("alert").filter({ hasText: "Change the prompt" })).toBeVisible();
  await expect(page.getByText("Feedback to the model on its answer")).toBeVisible();

  await script({ say: '{"notice_days": 1, "sources": []}', is_slow: true });
  await page.getByRole("button", { name: "Run again" }).click();
  await page.getByRole("button", { name: "Cancel the run" }).click();
  await expect(page.locator("header").getByText("Cancelled")).toBeVisible();
  await release();
});

test("a changed text is a version to compare with, and the old one is restored", async ({ page }) => {
  await page.goto("/prompts/");
  await page.getByRole("link", { name: "Notice" }).click();
  await page
    .getByLabel("Text", { exact: false })
    .and(page.locator("textarea"))
    .first()
    .fill("How much notice is needed, in days?\nSay where it says so.");
  await page.getByLabel("Rounds").fill("3");
  await page.getByRole("button", { name: "Save as version 2" }).click();
  await expect(page.getByText("Saved as version 2")).toBeVisible();
  await page.getByRole("link", { name: "Versions 2" }).click();
  const changes = page.getByRole("group", { name: "Changes of the text" });
  await expect(changes).toContainText("Removed: How much notice is needed?");
  await expect(changes).toContainText("Added: How much notice is needed, in days?");
  await expect(page.getByRole("region", { name: "Settings" })).toContainText("Rounds5 → 3");
  await expectAccessible(page);
  await page.getByRole("combobox").first().selectOption("1");
  await page.getByRole("button", { name: "Restore version 1" }).click();
  await page.getByRole("button", { name: "Restore as version 3" }).click();
  await expect(page.getByText("Version 1 restored as version 3")).toBeVisible();
  await page.getByRole("link", { name: "Prompt", exact: true }).click();
  await expect(page.getByLabel("Rounds")).toHaveValue("5");
});

test("deleting a knowledge base that a prompt searches names the prompt, and takes it off", async ({ page }) => {
  const { kb_id: kb } = await call<{ kb_id: string }>("POST", "/knowledge-bases", {
    name: "Leaving",
    tag_ids: [],
    embedding_model: LOCAL_MODEL,
  });
  const tag = await call<{ tag_id: string }>("POST", "/tags", { name: "leaving" });
  const { prompt_id: id } = await call<{ prompt_id: string }>("POST", "/prompts", {
    name: "Attached",
    text: "Say yes.",
    kb_id: kb,
    tag_ids: [tag.tag_id],
  });
  await page.goto(`/kbs/view/?id=${kb}`);
  await page.getByRole("button", { name: "Delete the knowledge base" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("Attached");
  await dialog.getByLabel(/Type/).fill("Leaving");
  await dialog.getByRole("button", { name: "Remove from 1 prompt and delete" }).click();
  await expect(page.getByRole("heading", { name: "Knowledge bases", level: 1 })).toBeVisible();

  await page.goto("/tags/?q=leaving");
  await page.getByRole("button", { name: "Delete leaving" }).click();
  await expect(page.getByRole("dialog")).toContainText("Attached");
  await page.getByRole("button", { name: "Remove from 1 prompt and delete" }).click();
  await expect(page.getByText("Tag leaving deleted")).toBeVisible();
  expect(await call("GET", `/prompts/${id}`)).toMatchObject({ version: 3, kb_id: null, tag_ids: [] });

  await page.goto(`/prompts/view/?id=${id}`);
  await page.getByRole("button", { name: "Delete the prompt" }).click();
  await expect(page.getByRole("dialog")).toContainText("3 versions");
  await page.getByRole("dialog").getByLabel(/Type/).fill("Attached");
  await page.getByRole("dialog").getByRole("button", { name: "Delete the prompt" }).click();
  await expect(page.getByRole("heading", { name: "Prompts", level: 1 })).toBeVisible();
  await expect(page.getByRole("link", { name: "Attached" })).toHaveCount(0);
});

test("a viewer reads prompts and results, and is offered nothing else", async ({ visitor }) => {
  const { token } = await call<{ token: string }>("POST", "/invitations", { email: "reader@example.com", role: "viewer" });
  await visitor.goto(`/invite/#${token}`);
  await visitor.getByLabel("Name").fill("Reader");
  await visitor.getByLabel("Password").fill(PASSWORD);
  await visitor.getByRole("button", { name: "Join" }).click();
  await expect(visitor).toHaveURL(/\/documents\//);
  await visitor.goto("/prompts/");
  await expect(visitor.getByRole("link", { name: "Notice" })).toBeVisible();
  await expect(visitor.getByRole("link", { name: "New prompt" })).toHaveCount(0);
  await visitor.getByRole("link", { name: "Notice" }).click();
  await expect(visitor.getByRole("link", { name: /^Versions/ })).toHaveAttribute("aria-current", "page");
  await expect(visitor.getByRole("button", { name: /Run|Delete|Restore/ })).toHaveCount(0);
  await visitor.goto("/prompts/new/");
  await expect(visitor.getByText("Editors, admins and owners can create prompts")).toBeVisible();
});

for (const theme of ["light", "dark"] as const) {
  test(`pages of prompts are accessible and no wider than their window, ${theme}`, async ({ page }) => {
    test.setTimeout(180_000);
    await page.emulateMedia({ colorScheme: theme });
    const { prompts } = await call<{ prompts: { prompt_id: string }[] }>("GET", "/prompts?name_search=Notice");
    const id = prompts[0]?.prompt_id;
    const { runs } = await call<{ runs: { run_id: string }[] }>("GET", `/runs?prompt_id=${id}&status=succeeded`);
    const routes = [
      "/prompts/",
      "/prompts/new/",
      `/prompts/view/?id=${id}`,
      `/prompts/view/?id=${id}&tab=versions&v=2`,
      `/prompts/view/?id=${id}&tab=runs`,
      `/prompts/view/?id=${id}&tab=results&v=1`,
      `/prompts/run/?id=${runs.at(-1)?.run_id}`,
    ];
    for (const route of routes) {
      await page.setViewportSize({ width: 1440, height: 860 });
      await page.goto(route);
      for (const width of [1440, 768, 390]) {
        await page.setViewportSize({ width, height: 860 });
        await expect(page.locator("h1")).toBeVisible();
        await expect(page.locator("[aria-busy=true], .skeleton")).toHaveCount(0);
        const wider = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        expect.soft(wider, `${route} at ${width}`).toBeLessThanOrEqual(0);
        await expectAccessible(page, `${route} at ${width}, ${theme}`);
        if (process.env.UI_PICTURES) {
          const name = route.replaceAll(/id=[0-9a-f]+/g, "").replaceAll(/[^a-z0-9]+/g, "-");
          await page.screenshot({ path: join(process.env.UI_PICTURES, `prompts${name}${theme}-${width}.png`) });
        }
      }
    }
  });
}
