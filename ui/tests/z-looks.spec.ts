import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { expect, expectAccessible, test } from "./fixtures";
import { routes, settled } from "./routes";

/** Set to a folder, it is filled with pictures of every page. */
const PICTURES = process.env.UI_PICTURES;
const SIZES = [
  { width: 1440, height: 860 },
  { width: 768, height: 1024 },
  { width: 390, height: 844 },
];

for (const theme of ["light", "dark"] as const) {
  test(`every page is accessible, still and no wider than its window, ${theme}`, async ({ page }) => {
    test.setTimeout(420_000);
    await page.emulateMedia({ colorScheme: theme });
    await page.addInitScript(() => {
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) {
          const shift = entry as PerformanceEntry & { value: number; hadRecentInput: boolean; sources?: { node?: Node }[] };
          if (shift.hadRecentInput) continue;
          window.shifted = (window.shifted ?? 0) + shift.value;
          const by = shift.sources?.map(({ node }) => (node instanceof Element ? node.outerHTML.slice(0, 120) : node?.textContent));
          window.shiftedBy = [...(window.shiftedBy ?? []), `${shift.value.toFixed(4)}: ${by?.join(" | ")}`];
        }
      }).observe({ type: "layout-shift", buffered: true });
    });
    if (PICTURES) mkdirSync(PICTURES, { recursive: true });
    for (const [name, route] of Object.entries(await routes())) {
      await page.setViewportSize({ width: 1440, height: 860 });
      await page.goto(route);
      await settled(page);
      const { shifted, by } = await page.evaluate(() => ({ shifted: window.shifted ?? 0, by: window.shiftedBy ?? [] }));
      expect.soft(shifted, `layout shift of ${name} by ${by.join("\n")}`).toBeLessThan(0.02);
      for (const size of SIZES) {
        await page.setViewportSize(size);
        await settled(page);
        const wider = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        expect.soft(wider, `${name} at ${size.width}`).toBeLessThanOrEqual(0);
        // Between the two themes only the colours differ, between the widths what is shown.
        if (size.width !== 768)
          await expectAccessible(page, `${name} at ${size.width}, ${theme}`, theme === "dark" ? ["color-contrast"] : null);
        if (PICTURES) await page.screenshot({ path: join(PICTURES, `${name}-${theme}-${size.width}.png`) });
      }
    }
  });
}

declare global {
  interface Window {
    shifted?: number;
    shiftedBy?: string[];
  }
}
