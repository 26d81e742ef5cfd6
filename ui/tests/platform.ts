/** The real platform, on a data directory of its own: database, API, worker and reconciler; and fake providers of embeddings and chat models. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(__dirname, "..", "..");
const START_MILLISECONDS = 120_000;

function python(): string {
  return process.env.ANALYTIQ_PYTHON ?? join(ROOT, ".venv", "bin", "python");
}

interface Running {
  process: ChildProcess;
  printed: () => string;
}

function run(log: string, ...module: string[]): Running {
  const output = openSync(log, "w");
  const process_ = spawn(python(), ["-m", ...module], {
    cwd: ROOT,
    stdio: ["ignore", output, output],
    env: {
      ...process.env,
      PYTHONPATH: ROOT,
      PYTHONUNBUFFERED: "1",
      // So that a job whose provider refuses the key is given up at once; the fake provider is on this machine.
      ANALYTIQ_QUEUE__MAX_ATTEMPTS: "1",
      ANALYTIQ_PROVIDERS__ALLOW_PRIVATE_ADDRESSES: "true",
    },
  });
  return { process: process_, printed: () => readFileSync(log, "utf8") };
}

async function until({ process: process_, printed }: Running, words: RegExp): Promise<string> {
  const deadline = Date.now() + START_MILLISECONDS;
  for (;;) {
    const found = words.exec(printed());
    if (found) return found[0];
    if (process_.exitCode !== null || Date.now() > deadline) throw new Error(`It did not start:\n${printed().slice(-4000)}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function end({ process: process_ }: Running): Promise<void> {
  if (process_.exitCode !== null) return;
  process_.kill("SIGTERM");
  await once(process_, "exit");
}

export default async function start(): Promise<() => Promise<void>> {
  if (!existsSync(join(ROOT, "api", "ui", "index.html"))) throw new Error("Build the UI first: make ui");
  const directory = mkdtempSync(join(tmpdir(), "analytiq-ui-"));
  const data = join(directory, "data");
  const shared = join(directory, "shared");
  mkdirSync(shared);
  // What sources may read; processes of the platform inherit it.
  process.env.ANALYTIQ_SOURCES__FOLDERS = JSON.stringify([shared]);
  process.env.UI_TEST_SHARED = shared;
  const platform = run(join(directory, "platform.log"), "analytiq.cli", "up", "--data-dir", data, "--port", "0");
  const provider = run(join(directory, "provider.log"), "tests.fakes.embedding_server", "--port", "0");
  const chat = run(join(directory, "chat.log"), "tests.fakes.chat_server", "--port", "0");
  const stop = async () => {
    await Promise.all([end(platform), end(provider), end(chat)]);
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    await until(platform, /Analytiq is ready/);
    // Test processes inherit the environment.
    process.env.UI_TEST_PROVIDER = await until(provider, /http:\/\/\S+/);
    process.env.UI_TEST_CHAT = await until(chat, /http:\/\/\S+/);
  } catch (error) {
    await stop();
    throw error;
  }
  process.env.UI_TEST_DATA = data;
  process.env.UI_TEST_CONNECTION = readFileSync(join(data, "connection.json"), "utf8");
  return stop;
}
