import type { Browser, Page } from "@playwright/test";
import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { call, connection, expect, expectAccessible, test } from "./fixtures";
import { settled } from "./routes";

const PASSWORD = "correct horse battery";
/** Names of what changes something; a viewer and a token that reads find none of it on any page. */
const FORBIDDEN =
  /^(upload|add files|new tag|edit |delete|new knowledge base|new$|clone|dry run$|run now$|replay|cancel( all| the job|$)|invite|remove |withdraw|new token|revoke|add a key|use a key|replace the key|forget|test$|new prompt|copy( as| it|$)|run on|save$|extract again|extract .* again|index .* again|add tag|tag$|take o(ff|ut) |edit$|add$|give it tags|create$|tags…|metadata…|delete…|add source|test connection|fetch again|run it$|try a dry run|replace credentials|map field|add (row|value))/i;

interface Furnished {
  documentId: string;
  kbId: string;
  promptId: string;
  sourceId: string;
}

/** One of each thing that has actions. */
async function furnish(): Promise<Furnished> {
  const name = `roles ${Date.now()}`;
  const tag = await call<{ tag_id: string }>("POST", "/tags", { name, color: "#2d5bd0", description: "" });
  const base = await call<{ kb_id: string }>("POST", "/knowledge-bases", {
    name,
    tag_ids: [tag.tag_id],
    embedding_model: "local/all-minilm-l6-v2",
  });
  const { documents } = await call<{ documents: { document_id: string }[] }>("POST", "/documents", {
    documents: [{ name: `${name}.txt`, content: Buffer.from("The keeper counts ships.").toString("base64"), tag_ids: [tag.tag_id] }],
  });
  const prompt = await call<{ prompt_id: string }>("POST", "/prompts", { name, text: "Who counts ships?" });
  const path = mkdtempSync(join(process.env.UI_TEST_SHARED ?? "", "roles-"));
  const source = await call<{ source_id: string }>("POST", "/sources", { name, kind: "folder", settings: { path } });
  return { sourceId: source.source_id, documentId: documents[0]?.document_id ?? "", kbId: base.kb_id, promptId: prompt.prompt_id };
}

function pagesOf({ documentId, kbId, promptId, sourceId }: Furnished): string[] {
  const document = `/documents/view/?id=${documentId}`;
  const base = `/kbs/view/?id=${kbId}`;
  return [
    "/documents/",
    ...["", "&tab=chunks", "&tab=details", "&tab=history"].map((tab) => document + tab),
    "/tags/",
    "/tags/?new=1",
    "/kbs/",
    "/kbs/new/",
    ...["", "&tab=chunks", "&tab=health", "&tab=settings"].map((tab) => base + tab),
    "/search/",
    "/chat/",
    "/prompts/",
    "/prompts/new/",
    ...(promptId
      ? [`/prompts/view/?id=${promptId}`, `/prompts/view/?id=${promptId}&tab=versions`, `/prompts/view/?id=${promptId}&tab=runs`]
      : []),
    "/sources/",
    "/sources/new/",
    ...["", "&tab=items", "&tab=settings", "&test=1"].map((tab) => `/sources/view/?id=${sourceId}${tab}`),
    "/usage/",
    "/operations/",
    "/operations/?state=dead",
    "/operations/?tab=workers",
    "/operations/?tab=reports",
    "/operations/?tab=backups",
    ...["people", "tokens", "providers", "organization", "audit-log"].map((page) => `/settings/${page}/`),
  ];
}

async function findNothingForbidden(page: Page, paths: readonly string[]): Promise<void> {
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => message.type() === "error" && complaints.push(`${message.text()} at ${message.location().url}`));
  page.on("response", (response) => response.status() === 403 && complaints.push(`403 ${response.request().method()} ${response.url()}`));
  for (const path of paths) {
    // Once it is known what they may, everything that they may is there.
    const told = page.waitForResponse((response) => new URL(response.url()).pathname === `/v0/orgs/${connection().organization_id}`);
    await page.goto(path);
    await told;
    await settled(page);
    const named = await page
      .locator("main")
      .evaluate((main) =>
        [...main.querySelectorAll("button, a")].map((element) => (element.getAttribute("aria-label") ?? element.textContent ?? "").trim()),
      );
    expect
      .soft(
        named.filter((name) => FORBIDDEN.test(name)),
        path,
      )
      .toEqual([]);
    expect.soft(complaints.splice(0), path).toEqual([]);
  }
}

async function signedInAs(browser: Browser, role: string): Promise<Page> {
  const invitation = await call<{ token: string }>("POST", "/invitations", { email: `${role}-${Date.now()}@example.com`, role });
  const context = await browser.newContext({ baseURL: connection().url });
  const page = await context.newPage();
  await page.goto(`/invite/#${invitation.token}`);
  await page.getByLabel("Name").fill(role);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Join" }).click();
  await expect(page).toHaveURL(/\/documents\//);
  return page;
}

async function withToken(browser: Browser, scope: string): Promise<Page> {
  const { token } = await call<{ token: string }>("POST", "/access-tokens", { name: `${scope} ${Date.now()}`, scope });
  const context = await browser.newContext({ baseURL: connection().url });
  const page = await context.newPage();
  await page.addInitScript(
    (session) => sessionStorage.setItem("analytiq.session", session),
    JSON.stringify({ organizationId: connection().organization_id, token }),
  );
  return page;
}

test.describe("what each may", () => {
  test.setTimeout(180_000);

  test("a viewer finds no forbidden action on any page, and is told who can", async ({ browser }) => {
    const paths = pagesOf(await furnish());
    const page = await signedInAs(browser, "viewer");
    await findNothingForbidden(page, paths);
    await page.goto("/kbs/new/");
    await expect(page.getByText("Editors, admins and owners can create knowledge bases")).toBeVisible();
    await page.goto("/sources/new/");
    await expect(page.getByText("Admins and owners can add sources")).toBeVisible();
    await page.goto("/settings/tokens/");
    await expect(page.getByText("Admins and owners can view and create access tokens")).toBeVisible();
    await expectAccessible(page);
    await page.keyboard.press("Control+k");
    await expect(page.getByPlaceholder("Documents, knowledge bases, tags, pages")).toBeVisible();
    await expect(page.getByText("Upload files")).toHaveCount(0);
    await page.context().close();
  });

  test("a token that reads finds no forbidden action on any page", async ({ browser }) => {
    const page = await withToken(browser, "read");
    await findNothingForbidden(page, pagesOf(await furnish()));
    await page.context().close();
  });

  test("an editor changes documents, and finds no administration", async ({ browser }) => {
    const { kbId, sourceId } = await furnish();
    const page = await signedInAs(browser, "editor");
    await expect(page.getByRole("button", { name: "Upload" }).first()).toBeVisible();
    await page.goto(`/kbs/view/?id=${kbId}`);
    await expect(page.getByRole("button", { name: "Delete the knowledge base" })).toBeVisible();
    await page.goto(`/kbs/view/?id=${kbId}&tab=health`);
    await expect(page.getByRole("link", { name: "Clone" })).toBeVisible();
    await expect(page.getByRole("button", { name: "Run now" })).toHaveCount(0);
    await page.goto(`/sources/view/?id=${sourceId}`);
    await expect(page.getByRole("button", { name: "Run now" })).toBeVisible();
    await expect(page.getByRole("button", { name: "Delete the source" })).toHaveCount(0);
    await page.goto("/operations/");
    await expect(page.getByRole("link", { name: "Reports" })).toBeVisible();
    await expect(page.getByRole("link", { name: "Backups" })).toHaveCount(0);
    await page.context().close();
  });
});

test("a backup is listed with what is in it, and one that failed with its reason", async ({ page }) => {
  const root = join(__dirname, "..", "..");
  const python = process.env.ANALYTIQ_PYTHON ?? join(root, ".venv", "bin", "python");
  const archive = join(mkdtempSync(join(tmpdir(), "analytiq-archive-")), "a.archive");
  const backUp = () =>
    execFileSync(python, ["-m", "analytiq.cli", "backup", "--to", archive, "--data-dir", process.env.UI_TEST_DATA ?? ""], {
      cwd: root,
      env: { ...process.env, PYTHONPATH: root },
      stdio: "pipe",
    });
  backUp();
  expect(backUp).toThrow();
  await page.goto("/operations/?tab=backups");
  await expect(page.getByRole("row", { name: /Backup.*Done.*document/ }).first()).toBeVisible();
  await expect(page.getByRole("row", { name: /Backup.*Failed.*a\.archive.*exists and is kept/ }).first()).toBeVisible();
  await expectAccessible(page);
});
