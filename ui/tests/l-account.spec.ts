import { call, connection, expect, expectAccessible, test } from "./fixtures";

const PASSWORD = "correct horse battery";
const FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:133.0) Gecko/20100101 Firefox/133.0";

test("a person changes their name, sees where they are signed in, and signs another browser out", async ({ visitor, browser }) => {
  const { token } = await call<{ token: string }>("POST", "/invitations", { email: "katherine@example.com", role: "editor" });
  await visitor.goto(`/invite/#${token}`);
  await visitor.getByLabel("Name").fill("Katherine");
  await visitor.getByLabel("Password").fill(PASSWORD);
  await visitor.getByRole("button", { name: "Join" }).click();
  await expect(visitor).toHaveURL(/\/documents\//);
  const other = await browser.newContext({ baseURL: connection().url, userAgent: FIREFOX });
  const elsewhere = await other.newPage();
  await elsewhere.goto("/sign-in/");
  await elsewhere.getByLabel("E-mail address").fill("katherine@example.com");
  await elsewhere.getByLabel("Password").fill(PASSWORD);
  await elsewhere.getByRole("button", { name: "Sign in", exact: true }).click();
  await expect(elsewhere.getByRole("heading", { name: "Documents", level: 1 })).toBeVisible();

  await visitor.goto("/account/");
  const sessions = visitor.getByRole("region", { name: "Where you are signed in" });
  await expect(sessions.getByRole("listitem")).toHaveCount(2);
  await expect(sessions.getByRole("listitem").filter({ hasText: "This browser" })).toContainText("Chrome on Linux");
  await expect(sessions.getByRole("listitem").filter({ hasText: "Firefox on Windows" })).toContainText("127.0.0.1");
  await expectAccessible(visitor);
  await sessions.getByRole("button", { name: "Sign out Firefox on Windows" }).click();
  await visitor.getByRole("dialog").getByRole("button", { name: "Sign this browser out" }).click();
  await expect(visitor.getByText("Firefox on Windows signed out")).toBeVisible();
  await expect(sessions.getByRole("listitem")).toHaveCount(1);
  await elsewhere.goto("/tags/");
  await expect(elsewhere).toHaveURL(/\/sign-in\//);
  await other.close();

  const save = visitor.getByRole("button", { name: "Save name" });
  await expect(save).toBeDisabled();
  await visitor.getByLabel("Name").fill("Katherine Johnson");
  await save.click();
  await expect(visitor.getByText("Name changed to Katherine Johnson")).toBeVisible();
  await visitor.reload();
  await expect(visitor.getByLabel("Name")).toHaveValue("Katherine Johnson");
  await visitor.goto("/settings/people/");
  await expect(visitor.getByRole("row", { name: /Katherine Johnson katherine@example\.com/ })).toBeVisible();
});
