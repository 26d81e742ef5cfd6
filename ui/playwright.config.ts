import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: "tests",
  globalSetup: "./tests/platform.ts",
  outputDir: "test-results",
  // One platform, one story after the other: the tests share an organization.
  workers: 1,
  timeout: 90_000,
  expect: { timeout: 20_000 },
  forbidOnly: true,
  retries: 0,
  reporter: [["list"]],
  use: {
    browserName: "chromium",
    viewport: { width: 1440, height: 860 },
    trace: "retain-on-failure",
    launchOptions: {
      // Debian's browser: Playwright's own builds cannot be had everywhere.
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
    },
  },
});
