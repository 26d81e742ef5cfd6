// Lighthouse's figures of pages of the built UI, signed in as connection.json says. Lighthouse is no dependency of this
// project: `npm install --no-save lighthouse@13.5.0` beforehand.
//   node scripts/lighthouse.mjs DATA_DIRECTORY/connection.json desktop|mobile 3 /sign-in/ /documents/ …
// Prints of each page the middle of so many runs.

import { readFileSync } from "node:fs";

import { desktopConfig, default as lighthouse } from "lighthouse";
import puppeteer from "puppeteer-core";

const [file, form, repeats, ...paths] = process.argv.slice(2);
const { url, organization_id: organizationId, token } = JSON.parse(readFileSync(file, "utf8"));
const CATEGORIES = ["performance", "accessibility", "best-practices"];
const TIMES = ["first-contentful-paint", "largest-contentful-paint", "total-blocking-time", "cumulative-layout-shift"];

const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
});
const middle = (numbers) => numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)];
for (const path of paths) {
  const runs = [];
  for (let run = 0; run < Number(repeats); run += 1) {
    const page = await browser.newPage();
    if (!path.startsWith("/sign-in/")) {
      await page.evaluateOnNewDocument(
        (session) => sessionStorage.setItem("analytiq.session", session),
        JSON.stringify({ organizationId, token }),
      );
    }
    // The stream of live events never ends, so that the network is never idle.
    const flags = { onlyCategories: CATEGORIES, disableStorageReset: true, logLevel: "error", maxWaitForLoad: 12_000 };
    const { lhr } = await lighthouse(`${url}${path}`, flags, form === "desktop" ? desktopConfig : undefined, page);
    runs.push(lhr);
    await page.close();
  }
  const scores = CATEGORIES.map(
    (category) => `${category} ${Math.round(100 * middle(runs.map(({ categories }) => categories[category].score)))}`,
  );
  const times = TIMES.map(
    (id) => `${id} ${middle(runs.map(({ audits }) => audits[id].numericValue)).toFixed(id.endsWith("shift") ? 3 : 0)}`,
  );
  const failed = CATEGORIES.slice(1).flatMap((category) =>
    runs[0].categories[category].auditRefs.map(({ id }) => runs[0].audits[id]).filter(({ score }) => score !== null && score < 1),
  );
  console.log([form, path, runs[0].finalDisplayedUrl.slice(url.length), ...scores, ...times].join("  "));
  for (const { id, title } of failed) console.log(`    ${id}: ${title}`);
}
await browser.close();
