import type { Page } from "@playwright/test";

import { call, connection, expect, test } from "./fixtures";
import { routes, settled } from "./routes";

/** A phone; and a window of 1440 by 860 at 400 % zoom, which is one of a fourth at four times the density. */
const WINDOWS = [
  { name: "390 px", viewport: { width: 390, height: 844 }, deviceScaleFactor: 1 },
  { name: "400 % zoom", viewport: { width: 360, height: 215 }, deviceScaleFactor: 4 },
];

/** What makes somebody scroll sideways, or lies where they cannot scroll to; paper is two-dimensional and may. */
function findTooWide(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const named = (element: Element) =>
      `${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""} “${element.textContent?.slice(0, 40)}”`;
    const found: string[] = [];
    if (document.documentElement.scrollWidth > innerWidth) found.push("the page");
    for (const element of document.querySelectorAll("main *, nav *")) {
      if (element.closest(".pdf-page, pre, .sr-only") || element.querySelector(".pdf-page")) continue;
      const scrolls = ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
      if (scrolls && element.scrollWidth > element.clientWidth + 1) found.push(`scrolls sideways: ${named(element)}`);
      if (!element.matches("a, button, input, select, textarea, h1, h2")) continue;
      const { left, right, width } = element.getBoundingClientRect();
      if (width > 1 && (left < -1 || right > innerWidth + 1)) found.push(`is cut: ${named(element)}`);
    }
    return found;
  });
}

/** Controls of the page that cannot be brought into the window above the bar at its foot. */
function findOutOfReach(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const foot = [...document.querySelectorAll("nav")].find(
      (nav) => getComputedStyle(nav).display !== "none" && nav.getBoundingClientRect().bottom >= innerHeight,
    );
    const limit = foot?.getBoundingClientRect().top ?? innerHeight;
    const found: string[] = [];
    // What is folded away cannot be scrolled to, but has a place in the layout.
    for (const folded of document.querySelectorAll<HTMLDetailsElement>("main details")) folded.open = true;
    for (const control of document.querySelectorAll<HTMLElement>("main a, main button, main input, main select, main textarea")) {
      if (control.offsetParent === null || control.getBoundingClientRect().width <= 1) continue;
      control.scrollIntoView({ block: "center" });
      const { top, bottom } = control.getBoundingClientRect();
      const middle = (top + bottom) / 2;
      if (middle < 0 || middle > limit)
        found.push(
          `${control.tagName.toLowerCase()} “${control.getAttribute("aria-label") ?? control.textContent?.slice(0, 40)}” at ${Math.round(middle)} of ${Math.round(limit)}`,
        );
    }
    return found;
  });
}

for (const { name, viewport, deviceScaleFactor } of WINDOWS) {
  test(`no page scrolls sideways, and all of it can be reached, at ${name}`, async ({ browser }) => {
    test.setTimeout(300_000);
    const { organization_id: organizationId, token, url } = connection();
    const context = await browser.newContext({ baseURL: url, viewport, deviceScaleFactor });
    await context.addInitScript((held) => sessionStorage.setItem("analytiq.session", held), JSON.stringify({ organizationId, token }));
    const page = await context.newPage();
    for (const [where, route] of Object.entries(await routes())) {
      await page.goto(route);
      await settled(page);
      expect.soft(await findTooWide(page), `${where} at ${name}`).toEqual([]);
      expect.soft(await findOutOfReach(page), `${where} at ${name}`).toEqual([]);
    }
    await context.close();
  });
}

const NARROWEST_NAME = 160;
/** Not the results of a prompt: their table has a column for each field of the schema, and scrolls in its frame. */
const WITH_TABLES = [
  "documents",
  "history",
  "tags",
  "knowledge-bases",
  "knowledge-base",
  "prompts",
  "prompt-runs",
  "usage",
  "operations",
  "operations-workers",
  "operations-backups",
  "people",
  "tokens",
  "audit-log",
];

/** The page in a frame, which takes another width faster than a window does. */
async function openInFrame(page: Page, address: string): Promise<void> {
  await page.route("**/frame-host", (route) =>
    route.fulfill({
      contentType: "text/html",
      body: `<iframe src="${address.replaceAll('"', "&quot;")}" style="border:0;width:1440px;height:860px"></iframe>`,
    }),
  );
  await page.route("**/*", async (route) => {
    if (route.request().resourceType() !== "document" || route.request().url().endsWith("/frame-host")) return route.fallback();
    const response = await route.fetch();
    const { "content-security-policy": _policy, "x-frame-options": _options, ...headers } = response.headers();
    await route.fulfill({ response, headers });
  });
  await page.goto("/frame-host");
  await expect(page.frameLocator("iframe").locator("main table:visible").first()).toBeVisible();
  await expect(page.frameLocator("iframe").locator("[aria-busy=true], .skeleton")).toHaveCount(0);
}

/** At every 20 px: columns of names that are too narrow to read, tables without one, and tables that scroll sideways. */
function findTooNarrow(page: Page, limit: number): Promise<string[]> {
  return page.evaluate(async (narrowest) => {
    const found: string[] = [];
    const frame = document.querySelector("iframe");
    const framed = frame?.contentWindow as (Window & typeof globalThis) | null | undefined;
    if (!frame || !framed) return ["no frame"];
    for (let width = 320; width <= 1920; width += 20) {
      frame.style.width = `${width}px`;
      await new Promise((resolve) => framed.requestAnimationFrame(resolve));
      for (const table of framed.document.querySelectorAll<HTMLTableElement>("main table")) {
        if (table.offsetParent === null) continue;
        const title = `${width} px, ${table.caption?.textContent ?? "a table without a caption"}`;
        const parent = table.parentElement;
        if (parent && table.offsetWidth > parent.clientWidth + 1) found.push(`${title}: ${table.offsetWidth} px in ${parent.clientWidth}`);
        const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
        const names = heads.filter((head) => head.dataset.column === "name");
        if (names.length === 0) found.push(`${title}: no column is marked as the name`);
        // Where rows are cards the heads are not shown: what counts is the cell.
        const row = [...(table.tBodies[0]?.rows ?? [])].find((each) => each.ariaHidden !== "true");
        for (const name of names) {
          const cell = row?.cells[heads.indexOf(name)] ?? name;
          const wide = cell.getBoundingClientRect().width;
          if (framed.getComputedStyle(cell).display !== "none" && wide < narrowest)
            found.push(`${title}, ${name.textContent}: ${Math.round(wide)} px`);
        }
      }
    }
    return found;
  }, limit);
}

/** A job that failed, so that the list of jobs has a row: stories before this one leave none. */
async function makeFailedJob(): Promise<void> {
  const name = `refused ${Date.now()}`;
  const provider = { api_base: process.env.UI_TEST_PROVIDER };
  await call("PUT", "/llm-providers/openai", { ...provider, api_key: "fake-secret-key-0123456789" });
  const { tag_id: tag } = await call<{ tag_id: string }>("POST", "/tags", { name });
  await call("POST", "/knowledge-bases", { name, tag_ids: [tag], embedding_model: "openai/fake-embedding" });
  await call("PUT", "/llm-providers/openai", { ...provider, api_key: "a-key-that-is-not-valid" });
  await call("POST", "/documents", { documents: [{ name: `${name}.txt`, content: Buffer.from(name).toString("base64"), tag_ids: [tag] }] });
  await expect.poll(async () => (await call<{ dead: number }>("GET", "/jobs/counts")).dead, { timeout: 60_000 }).toBeGreaterThan(0);
}

for (const where of WITH_TABLES) {
  test(`names in tables are readable at every width from 320 to 1920: ${where}`, async ({ page }) => {
    if (where === "operations") await makeFailedJob();
    await openInFrame(page, (await routes())[where] ?? "");
    expect(await findTooNarrow(page, NARROWEST_NAME)).toEqual([]);
  });
}
