import { call, expect, test } from "./fixtures";

const PASSWORD = "long enough to be kept 4711";

test("the end of a long form is the end of scrolling: the application stays in the window", async ({ page }) => {
  await page.setViewportSize({ width: 1440, height: 700 });
  await page.goto("/prompts/new/");
  await expect(page.getByRole("heading", { name: "New prompt", level: 1 })).toBeVisible();
  const save = page.getByRole("button", { name: "Save the prompt" });
  await expect(save).toBeAttached();
  await page.mouse.move(720, 400);
  // Parts of the form come while it is scrolled.
  await expect(async () => {
    await page.mouse.wheel(0, 12_000);
    await expect(save).toBeInViewport({ timeout: 500 });
  }).toPass();
  expect(await page.evaluate(() => [scrollY, document.documentElement.scrollHeight - innerHeight])).toEqual([0, 0]);
  await expect(page.getByRole("heading", { name: "New prompt", level: 1 })).toBeInViewport();
});

test("a new tab of a signed-in person opens its page at once, and asks for each list once", async ({ visitor }) => {
  const { token } = await call<{ token: string }>("POST", "/invitations", { email: "tabs@example.com", role: "editor" });
  await visitor.goto(`/invite/#${token}`);
  await visitor.getByLabel("Name").fill("Tabea");
  await visitor.getByLabel("Password").fill(PASSWORD);
  await visitor.getByRole("button", { name: "Join" }).click();
  await expect(visitor.getByRole("heading", { name: "Documents", level: 1 })).toBeVisible();
  const tab = await visitor.context().newPage();
  const places: string[] = [];
  tab.on("framenavigated", (frame) => places.push(new URL(frame.url()).pathname));
  const lists: string[] = [];
  tab.on("request", (request) => {
    const { pathname, search } = new URL(request.url());
    if (/\/(documents|knowledge-bases|jobs)$/.test(pathname)) lists.push(pathname + search);
  });
  const isLive = tab.waitForResponse((response) => response.url().endsWith("/events"));
  await visitor.close();
  await tab.goto("/documents/?q=nothing-is-called-so");
  await isLive;
  await expect(tab.getByText("Nothing matches the filter")).toBeVisible();
  // What the navigation asks for every 20 s measures the time.
  await tab.waitForResponse(/\/jobs\?.*state=dead/, { timeout: 60_000 });
  expect(places.filter((place) => place.startsWith("/sign-in"))).toEqual([]);
  const once = lists.filter((list) => !list.includes("state=dead"));
  expect(once).toEqual([...new Set(once)]);
});
