import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const exclude = ["node_modules", "out", ".next", "tests"];

export default defineConfig({
  resolve: { alias: { "@": fileURLToPath(new URL(".", import.meta.url)) } },
  test: {
    projects: [
      { extends: true, test: { name: "unit", include: ["**/*.test.ts"], exclude } },
      {
        extends: true,
        test: {
          name: "components",
          include: ["**/*.test.tsx"],
          exclude,
          environment: "jsdom",
          setupFiles: "./vitest.setup.ts",
          testTimeout: 60_000,
        },
      },
    ],
  },
});
