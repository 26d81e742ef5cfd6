import AxeBuilder from "@axe-core/playwright";
import { test as base, expect, type Page } from "@playwright/test";

export interface Connection {
  url: string;
  organization_id: string;
  token: string;
}

export function connection(): Connection {
  return JSON.parse(process.env.UI_TEST_CONNECTION ?? "{}") as Connection;
}

/** Call the API as the organization does. */
export async function call<Body>(method: string, path: string, body?: unknown): Promise<Body> {
  const { url, organization_id: organizationId, token } = connection();
  const response = await fetch(`${url}/v0/orgs/${organizationId}${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return (response.status === 204 ? undefined : await response.json()) as Body;
}

/** A page that is signed in; the test fails for anything that the browser complains of. */
export const test = base.extend<{ page: Page; visitor: Page }>({
  baseURL: async ({}, use) => {
    await use(connection().url);
  },
  page: async ({ page }, use) => {
    const { organization_id: organizationId, token } = connection();
    await page.addInitScript((session) => sessionStorage.setItem("analytiq.session", session), JSON.stringify({ organizationId, token }));
    await slowDown(page);
    const complaints = watch(page);
    await use(page);
    expect(complaints).toEqual([]);
  },
  visitor: async ({ browser }, use) => {
    const context = await browser.newContext({ baseURL: connection().url });
    await use(await context.newPage());
    await context.close();
  },
});

/** With UI_TEST_SLOWDOWN=6 the browser's processor is six times slower: shows tests that act before the page is ready. */
async function slowDown(page: Page): Promise<void> {
  const rate = Number(process.env.UI_TEST_SLOWDOWN ?? "1");
  if (rate <= 1) return;
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setCPUThrottlingRate", { rate });
}

function watch(page: Page): string[] {
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(`${message.text()} at ${message.location().url}`);
  });
  return complaints;
}

/** Nothing that axe calls serious or critical. */
export async function expectAccessible(page: Page, where = page.url(), rules: string[] | null = null): Promise<void> {
  // A notification that fades in or out has less contrast for a moment than anybody reads it with.
  await page.emulateMedia({ reducedMotion: "reduce" });
  const builder = new AxeBuilder({ page });
  const { violations } = await (rules === null ? builder : builder.withRules(rules)).analyze();
  const serious = violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
  expect.soft(serious, where).toEqual([]);
}

export { expect };
