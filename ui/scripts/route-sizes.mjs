// What a browser loads of JavaScript for each page of the built UI, gzipped, before what is loaded when it is wanted.
// Ends with 1 where a page is over its budget.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const SERVED = fileURLToPath(new URL("../../api/ui/", import.meta.url));
const BUDGET_KILOBYTES = 285;

const sizes = new Map();
function gzippedBytes(path) {
  if (!sizes.has(path)) sizes.set(path, gzipSync(readFileSync(join(SERVED, path)), { level: 9 }).length);
  return sizes.get(path);
}

let isOver = false;
for (const entry of readdirSync(SERVED, { recursive: true, withFileTypes: true })) {
  if (entry.name !== "index.html") continue;
  const path = join(entry.parentPath, entry.name);
  const scripts = [...readFileSync(path, "utf8").matchAll(/<script([^>]*)src="(\/_next\/static\/[^"?]+)"([^>]*)>/g)]
    .filter(([, before, , after]) => !/nomodule/i.test(before + after))
    .map(([, , source]) => source);
  const kilobytes = [...new Set(scripts)].reduce((sum, source) => sum + gzippedBytes(source), 0) / 1000;
  isOver ||= kilobytes > BUDGET_KILOBYTES;
  console.log(`${String(Math.round(kilobytes)).padStart(4)} kB  /${relative(SERVED, dirname(path))}`);
}
if (isOver) console.error(`A page is over its budget of ${BUDGET_KILOBYTES} kB.`);
process.exit(isOver ? 1 : 0);
