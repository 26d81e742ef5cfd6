import { execFileSync } from "node:child_process";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { call, connection, expect, expectAccessible, test } from "./fixtures";

const ROOT = join(__dirname, "..", "..");
const PASSWORD = "correct horse battery";
const NEW_PASSWORD = "staple another one";

/** A command of the operator, on the platform of these tests. */
function analytiq(...command: string[]): string {
  const python = process.env.ANALYTIQ_PYTHON ?? join(ROOT, ".venv", "bin", "python");
  return execFileSync(python, ["-m", "analytiq.cli", ...command, "--data-dir", process.env.UI_TEST_DATA ?? ""], {
    cwd: ROOT,
    env: { ...process.env, PYTHONPATH: ROOT },
    encoding: "utf8",
  });
}

async function accept(page: Page, email: string, role: string): Promise<void> {
  const invitation = await call<{ token: string }>("POST", "/invitations", { email, role });
  await page.goto(`${connection().url}/invite/#${invitation.token}`);
  await page.getByLabel("Name").fill("Grace");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Join" }).click();
  await expect(page).toHaveURL(/\/documents\//);
}

async function signIn(page: Page, email: string, password: string): Promise<void> {
  await page.goto(`${connection().url}/sign-in/`);
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

async function upload(page: Page, file: { name: string; mimeType: string; buffer: Buffer }): Promise<void> {
  const choosing = page.waitForEvent("filechooser");
  await page.locator("header").getByRole("button", { name: "Upload" }).click();
  await (await choosing).setFiles([file]);
  await page.getByRole("region", { name: "Uploads" }).getByRole("button", { name: "Upload 1 file" }).click();
}

test("settings of the organization are changed, discarded, and kept", async ({ page }) => {
  await page.goto("/settings/organization/");
  const calls = page.getByLabel("Calls a minute");
  await expect(calls).toBeVisible();
  await expectAccessible(page);
  await calls.fill("60");
  await page.getByRole("radio", { name: "These" }).check();
  await expect(page.getByRole("region", { name: "Unsaved changes" })).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("region", { name: "Unsaved changes" })).toBeHidden();
  await page.reload();
  await expect(calls).toHaveValue("60");
  await expect(page.getByRole("radio", { name: "These" })).toBeChecked();

  await page.getByRole("button", { name: "Add limits for a model" }).click();
  await page.getByLabel("Model", { exact: true }).fill("openai/some-model");
  await page.getByRole("button", { name: "Discard" }).click();
  await expect(page.getByLabel("Model", { exact: true })).toBeHidden();
  await call("PUT", "/settings", { ocr_languages: null, rate_limits: null });
});

test("an upload over the quota is refused on screen with the reason, and goes once there is room", async ({ visitor }) => {
  await accept(visitor, "grace@example.com", "admin");
  const used = await call<{ used_bytes: number }>("GET", "/storage");
  analytiq("storage", "set", "--bytes", String(used.used_bytes + 1000));
  const file = { name: "over the quota.txt", mimeType: "text/plain", buffer: Buffer.from("x".repeat(5000)) };
  await visitor.goto("/documents/");
  await upload(visitor, file);
  await expect(visitor.getByText(/no room for this file/).first()).toBeVisible();
  await visitor.goto("/settings/organization/");
  await expect(visitor.getByRole("meter", { name: "Storage" })).toBeVisible();
  await expectAccessible(visitor);

  analytiq("storage", "lift");
  await visitor.goto("/documents/");
  await upload(visitor, file);
  await expect(visitor.getByRole("row", { name: /over the quota\.txt/ })).toBeVisible();
});

test("a person changes the password, and signing out everywhere ends another browser's session", async ({ visitor, browser }) => {
  await accept(visitor, "hedy@example.com", "editor");
  const other = await browser.newContext();
  const elsewhere = await other.newPage();
  await signIn(elsewhere, "hedy@example.com", PASSWORD);
  await expect(elsewhere.getByRole("heading", { name: "Documents", level: 1 })).toBeVisible();

  await visitor.getByRole("button", { name: "Preferences" }).click();
  await visitor.getByRole("menuitem", { name: "Your account" }).click();
  await expect(visitor.getByRole("heading", { name: "Your account", level: 1 })).toBeVisible();
  await expect(visitor.getByText("hedy@example.com")).toBeVisible();
  await expectAccessible(visitor);
  await visitor.getByLabel("Current password").fill("not this one");
  await visitor.getByLabel("New password").fill(NEW_PASSWORD);
  await visitor.getByRole("button", { name: "Change password" }).click();
  await expect(visitor.getByText("is wrong")).toBeVisible();
  await visitor.getByLabel("Current password").fill(PASSWORD);
  await visitor.getByRole("button", { name: "Change password" }).click();
  await expect(visitor.getByText("Password changed. Other browsers are signed out.")).toBeVisible();
  await elsewhere.goto(`${connection().url}/tags/`);
  await expect(elsewhere).toHaveURL(/\/sign-in\//);

  await signIn(elsewhere, "hedy@example.com", NEW_PASSWORD);
  await expect(elsewhere.getByRole("heading", { name: "Documents", level: 1 })).toBeVisible();
  await visitor.getByRole("button", { name: "Sign out everywhere" }).click();
  await visitor.getByRole("dialog").getByRole("button", { name: "Sign out everywhere" }).click();
  await expect(visitor).toHaveURL(/\/sign-in\//);
  await elsewhere.goto(`${connection().url}/tags/`);
  await expect(elsewhere).toHaveURL(/\/sign-in\//);
  await other.close();
});

test("the audit log is filtered by what was done", async ({ page }) => {
  await page.goto("/settings/audit-log/");
  await page.getByLabel("What").selectOption("Update organization settings");
  await expect(page).toHaveURL(/action=update_organization_settings/);
  await expect(page.getByRole("row", { name: /Update organization settings/ }).first()).toBeVisible();
  await expect(page.getByRole("row", { name: /Create invitation/ })).toHaveCount(0);
  await expectAccessible(page);
});
