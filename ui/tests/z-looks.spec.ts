import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { call, expect, expectAccessible, test } from "./fixtures";

/** Set to a folder, it is filled with pictures of every page. */
const PICTURES = process.env.UI_PICTURES;
const SIZES = [
  { width: 1440, height: 860 },
  { width: 768, height: 1024 },
  { width: 390, height: 844 },
];

interface Named {
  kb_id: string;
}

async function routes(): Promise<Record<string, string>> {
  const { knowledge_bases: bases } = await call<{ knowledge_bases: Named[] }>("GET", "/knowledge-bases?name_search=Contracts");
  const { documents } = await call<{ documents: { document_id: string }[] }>("GET", "/documents?name_search=service-agreement");
  const kb = bases[0]?.kb_id;
  const document = documents[0]?.document_id;
  return {
    documents: "/documents/",
    viewer: `/documents/view/?id=${document}&page=3&hl=3-3:2400-2700`,
    details: `/documents/view/?id=${document}&tab=details`,
    history: `/documents/view/?id=${document}&tab=history`,
    tags: "/tags/",
    "knowledge-bases": "/kbs/",
    "knowledge-base": `/kbs/view/?id=${kb}`,
    "knowledge-base-settings": `/kbs/view/?id=${kb}&tab=settings`,
    "new-knowledge-base": "/kbs/new/",
    search: `/search/?kb=${kb}&q=When+are+invoices+payable`,
    "search-compared": `/search/?kb=${kb}&q=When+are+invoices+payable&b=lexical`,
    usage: "/usage/",
    operations: "/operations/",
    "operations-workers": "/operations/?tab=workers",
    "operations-reports": "/operations/?tab=reports",
    tokens: "/settings/tokens/",
    providers: "/settings/providers/",
    organization: "/settings/organization/",
  };
}

for (const theme of ["light", "dark"] as const) {
  test(`every page is accessible, still and no wider than its window, ${theme}`, async ({ page }) => {
    test.setTimeout(240_000);
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
      await expect(page.locator("h1")).toBeVisible();
      await expect(page.locator("[aria-busy=true], .skeleton")).toHaveCount(0);
      const { shifted, by } = await page.evaluate(() => ({ shifted: window.shifted ?? 0, by: window.shiftedBy ?? [] }));
      expect.soft(shifted, `layout shift of ${name} by ${by.join("\n")}`).toBeLessThan(0.02);
      for (const size of SIZES) {
        await page.setViewportSize(size);
        await expect(page.locator("[aria-busy=true], .skeleton")).toHaveCount(0);
        const wider = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        expect.soft(wider, `${name} at ${size.width}`).toBeLessThanOrEqual(0);
        // Between the two themes only the colours differ, between the widths what is shown.
        if (size.width !== 768) await expectAccessible(page, `${name} at ${size.width}, ${theme}`, theme === "dark" ? ["color-contrast"] : null);
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
