// Before `next build`: what pdf.js loads at run time for fonts and images that a PDF does not carry whole.

import { cpSync, mkdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
const source = dirname(require.resolve("pdfjs-dist/package.json"));
const target = fileURLToPath(new URL("../public/pdf/", import.meta.url));

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
for (const folder of ["cmaps", "standard_fonts", "wasm"]) {
  cpSync(join(source, folder), join(target, folder), { recursive: true });
}
