// After `next build`: put the export where the API process serves it from, with a compressed copy of each text.

import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { constants, gzipSync } from "node:zlib";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const EXPORT = join(ROOT, "out");
const SERVED = join(ROOT, "..", "api", "ui");
const TEXTS = new Set([".html", ".js", ".mjs", ".css", ".txt", ".svg", ".json", ".wasm"]);
const SMALLEST_BYTES = 1024;

rmSync(SERVED, { recursive: true, force: true });
cpSync(EXPORT, SERVED, { recursive: true });
let files = 0;
for (const entry of readdirSync(SERVED, { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name);
  if (!entry.isFile()) continue;
  files += 1;
  if (!TEXTS.has(extname(path)) || statSync(path).size < SMALLEST_BYTES) continue;
  writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: constants.Z_BEST_COMPRESSION }));
}
console.log(`${files} files in api/ui`);
