import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { call, expect, expectAccessible, test } from "./fixtures";

interface Documents {
  documents: { document_name: string; metadata: Record<string, unknown> }[];
  total_count: number;
}

test("a source is added by its kind's form, tested, run, mended and deleted", async ({ page }) => {
  test.setTimeout(150_000);
  const folder = join(process.env.UI_TEST_SHARED ?? "", "notes");
  mkdirSync(join(folder, "birds"), { recursive: true });
  for (const bird of ["heron", "egret", "bittern"]) writeFileSync(join(folder, "birds", `${bird}.txt`), `The ${bird} waits in the reeds.`);
  writeFileSync(join(folder, "film.mkv"), Buffer.alloc(2_000_000));

  await page.goto("/sources/");
  await page.getByRole("link", { name: "Add source" }).first().click();
  await expectAccessible(page);
  await page.getByRole("link", { name: /^Folder/ }).click();
  await page.getByRole("button", { name: "Add source" }).click();
  await expect(page.getByText("Enter a name.")).toBeVisible();
  await page.getByLabel(/^Name/).fill("Field notes");
  await page.getByLabel(/^Path/).fill(join(folder, "..", "..", "elsewhere"));
  await page.getByRole("button", { name: "Tag", exact: true }).click();
  await page.getByPlaceholder("Find a tag").fill("field notes");
  await page.getByRole("option", { name: /Create tag/ }).click();
  await page.keyboard.press("Escape");
  await page.getByText("Choose items and set metadata").click();
  await page.getByLabel(/^Largest item/).fill("1");
  await page.getByRole("button", { name: "Map field" }).click();
  await page.getByLabel("Field of the item 1").fill("folder");
  await page.getByLabel("Metadata key 1").fill("shelf");
  await expectAccessible(page);

  // The folder may not be read: the test says so, and nothing that was typed is lost.
  await page.getByRole("button", { name: "Test connection" }).click();
  const trial = page.getByRole("dialog", { name: "Test of the new source" });
  await expect(trial.getByRole("alert")).toContainText("ANALYTIQ_SOURCES__FOLDERS");
  await trial.getByRole("button", { name: "Change settings" }).click();
  await page.getByLabel(/^Path/).fill(folder);
  await page.getByRole("button", { name: "Test connection" }).click();
  await expect(trial.getByRole("row", { name: /heron\.txt.*folder: birds/ })).toBeVisible();
  await expectAccessible(page);
  await trial.getByRole("button", { name: "Done" }).click();
  await page.getByRole("button", { name: "Add source" }).click();
  await expect(page.getByRole("heading", { name: "Field notes", level: 1 })).toBeVisible();

  await page.getByRole("navigation", { name: "Source" }).getByRole("link", { name: "Settings" }).click();
  await page.getByLabel(/^Schedule/).selectOption("Every week");
  await page.getByLabel(/^Schedule/).selectOption("On request");
  await page.getByLabel(/^Exclude/).fill("*.tmp");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByText("Saved. The next run")).toBeVisible();

  // Its inbound address takes what programs push, once the secret is copied.
  await page.getByRole("button", { name: "Open inbound address" }).click();
  await page.getByRole("button", { name: "Open address" }).click();
  await expect(page.getByLabel("Secret", { exact: true })).toHaveValue(/^whsec_/);
  await page.getByRole("button", { name: "Done" }).click();
  await expect(page.getByLabel("Address", { exact: true })).toHaveValue(/^http.*\/v0\/inbound\//);
  await expectAccessible(page);

  await page.getByRole("button", { name: "Dry run" }).click();
  await page.getByRole("link", { name: "Runs", exact: true }).click();
  await expect(page.getByRole("row", { name: /Dry run.*3 added, 1 skipped.*Done/ })).toBeVisible();
  const found = () => call<Documents>("GET", "/documents?name_search=birds/");
  expect((await found()).total_count).toBe(0);

  await page.getByRole("button", { name: "Run now" }).click();
  await page.getByRole("link", { name: /^Run, / }).click();
  await expect(page.getByRole("button", { name: "Added 3" })).toBeVisible();
  await page.getByRole("button", { name: "Skipped 1" }).click();
  await expect(page.getByRole("row", { name: /film\.mkv.*Skipped/ })).toContainText("bytes");
  await expect(page.getByRole("row", { name: /heron/ })).toHaveCount(0);
  await page.reload();
  await expect(page.getByRole("row", { name: /film\.mkv.*Skipped/ })).toBeVisible();
  await expectAccessible(page);
  expect((await found()).documents.map(({ metadata }) => metadata["shelf"])).toEqual(["birds", "birds", "birds"]);

  await page.getByRole("button", { name: "All 4" }).click();
  await page.getByRole("button", { name: "Fetch again: birds/heron.txt" }).click();
  await expect(page.getByRole("heading", { name: "Run of chosen items", level: 1 })).toBeVisible();
  await expect(page.getByRole("row", { name: /heron\.txt.*Unchanged/ })).toBeVisible();

  await page.getByRole("link", { name: "Field notes" }).click();
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    (async () => {
      await page.getByRole("button", { name: "Export" }).click();
      await page.getByRole("menuitem", { name: /^NDJSON/ }).click();
    })(),
  ]);
  expect(file.suggestedFilename()).toBe("Field notes.ndjson");
  expect(readFileSync(await file.path(), "utf8")).toContain("The heron waits in the reeds.");

  // Most items vanish: nothing is removed before a person accepts it.
  for (const bird of ["heron", "egret"]) rmSync(join(folder, "birds", `${bird}.txt`));
  rmSync(join(folder, "film.mkv"));
  await page.getByRole("button", { name: "Run now" }).click();
  await page
    .getByRole("row", { name: /Done, nothing removed/ })
    .getByRole("link")
    .click();
  await page.getByRole("button", { name: "Run and accept the loss" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Run and accept the loss" }).click();
  await expect(page.getByRole("row", { name: /heron\.txt.*Removed/ })).toBeVisible();
  await expect.poll(async () => (await found()).documents.map((document) => document.document_name)).toEqual(["birds/bittern.txt"]);

  await page.goto("/sources/?sign_in_error=sign_in_expired");
  await expect(page.getByRole("alert").filter({ hasText: "longer than ten minutes" })).toBeVisible();
  await expect(page).toHaveURL(/\/sources\/$/);
  await expect(page.getByRole("row", { name: /Field notes.*Folder.*field notes.*Done.*On request/ })).toBeVisible();
  await expectAccessible(page);
});

test("deleting a source asks what becomes of its documents", async ({ page }) => {
  const folder = join(process.env.UI_TEST_SHARED ?? "", "drafts");
  mkdirSync(folder);
  writeFileSync(join(folder, "owl draft.txt"), "The owl sleeps by day.");
  const { source_id: id } = await call<{ source_id: string }>("POST", "/sources", {
    name: "Drafts",
    kind: "folder",
    settings: { path: folder },
  });
  await page.goto(`/sources/view/?id=${id}`);
  await page.getByRole("button", { name: "Run it" }).click();
  await expect(page.getByRole("row", { name: /1 added.*Done/ })).toBeVisible();
  await page.getByRole("button", { name: "Delete the source" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete Drafts?" });
  await expectAccessible(page);
  await dialog.getByLabel("Delete its documents").check();
  await expect(dialog.getByRole("button", { name: "Delete source and documents" })).toBeDisabled();
  await dialog.getByLabel("Type Drafts to confirm").fill("Drafts");
  await dialog.getByRole("button", { name: "Delete source and documents" }).click();
  await expect(page).toHaveURL(/\/sources\/$/);
  await expect(page.getByRole("link", { name: "Drafts" })).toHaveCount(0);
  await expect.poll(async () => (await call<Documents>("GET", "/documents?name_search=owl%20draft")).total_count).toBe(0);
});
