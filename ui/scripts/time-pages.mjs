// How long the built UI takes, in a real browser, from the navigation until a page's rows are shown.
// Reads from standard input {url, organization_id, token, repeats, pages: {name: path}}; prints {name: [milliseconds, …]}.
// Each repeat has a browser profile of its own, with nothing cached, and keeps to one page at a time.

import { readFileSync } from "node:fs";

import { chromium } from "@playwright/test";

const { url, organization_id: organizationId, token, repeats, pages } = JSON.parse(readFileSync(0, "utf8"));
const ROWS = "main table tbody tr:not([aria-hidden])";
const LONGEST_MILLISECONDS = 60_000;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
});
const found = {};
for (let repeat = 0; repeat < repeats; repeat += 1) {
  for (const [name, path] of Object.entries(pages)) {
    const context = await browser.newContext({ baseURL: url, viewport: { width: 1440, height: 860 } });
    await context.addInitScript(
      ([session, rows]) => {
        sessionStorage.setItem("analytiq.session", session);
        const look = () => {
          if (window.rowsShownAt === undefined && document.querySelector(rows)) window.rowsShownAt = performance.now();
        };
        new MutationObserver(look).observe(document, { subtree: true, childList: true });
      },
      [JSON.stringify({ organizationId, token }), ROWS],
    );
    const page = await context.newPage();
    await page.goto(path);
    const shown = await page.waitForFunction(() => window.rowsShownAt, null, { timeout: LONGEST_MILLISECONDS });
    (found[name] ??= []).push(await shown.jsonValue());
    await context.close();
  }
}
await browser.close();
console.log(JSON.stringify(found));
