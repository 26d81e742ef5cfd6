/** The real platform, on a data directory of its own: database, API, worker and reconciler. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(__dirname, "..", "..");
const START_MILLISECONDS = 120_000;

function python(): string {
  return process.env.ANALYTIQ_PYTHON ?? join(ROOT, ".venv", "bin", "python");
}

async function untilReady(platform: ChildProcess, log: string): Promise<void> {
  const deadline = Date.now() + START_MILLISECONDS;
  while (!readFileSync(log, "utf8").includes("Analytiq is ready")) {
    if (platform.exitCode !== null || Date.now() > deadline) {
      throw new Error(`The platform did not start:\n${readFileSync(log, "utf8").slice(-4000)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

export default async function start(): Promise<() => Promise<void>> {
  if (!existsSync(join(ROOT, "api", "ui", "index.html"))) throw new Error("Build the UI first: make ui");
  const directory = mkdtempSync(join(tmpdir(), "analytiq-ui-"));
  const log = join(directory, "log");
  const output = openSync(log, "w");
  const data = join(directory, "data");
  const platform = spawn(python(), ["-m", "analytiq.cli", "up", "--data-dir", data, "--port", "0"], {
    cwd: ROOT,
    stdio: ["ignore", output, output],
    env: { ...process.env, PYTHONPATH: ROOT, ANALYTIQ_QUEUE__MAX_ATTEMPTS: "1" },
  });
  const stop = async () => {
    if (platform.exitCode === null) {
      platform.kill("SIGTERM");
      await once(platform, "exit");
    }
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    await untilReady(platform, log);
  } catch (error) {
    await stop();
    throw error;
  }
  // Test processes inherit the environment.
  process.env.UI_TEST_CONNECTION = readFileSync(join(data, "connection.json"), "utf8");
  return stop;
}
