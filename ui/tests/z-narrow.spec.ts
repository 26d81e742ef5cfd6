import type { Page } from "@playwright/test";

import { connection, expect, test } from "./fixtures";
import { routes, settled } from "./routes";

/** A phone; and a window of 1440 by 860 at 400 % zoom, which is one of a fourth at four times the density. */
const WINDOWS = [
  { name: "390 px", viewport: { width: 390, height: 844 }, deviceScaleFactor: 1 },
  { name: "400 % zoom", viewport: { width: 360, height: 215 }, deviceScaleFactor: 4 },
];

/** What makes somebody scroll sideways, or lies where they cannot scroll to; paper is two-dimensional and may. */
function findTooWide(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const named = (element: Element) => `${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""} “${element.textContent?.slice(0, 40)}”`;
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
    const foot = [...document.querySelectorAll("nav")].find((nav) => getComputedStyle(nav).display !== "none" && nav.getBoundingClientRect().bottom >= innerHeight);
    const limit = foot?.getBoundingClientRect().top ?? innerHeight;
    const found: string[] = [];
    for (const control of document.querySelectorAll<HTMLElement>("main a, main button, main input, main select, main textarea")) {
      if (control.offsetParent === null || control.getBoundingClientRect().width <= 1) continue;
      control.scrollIntoView({ block: "center" });
      const { top, bottom } = control.getBoundingClientRect();
      const middle = (top + bottom) / 2;
      if (middle < 0 || middle > limit) found.push(`${control.tagName.toLowerCase()} “${control.getAttribute("aria-label") ?? control.textContent?.slice(0, 40)}” at ${Math.round(middle)} of ${Math.round(limit)}`);
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
