import { call, expect, test } from "./fixtures";

const PASSWORD = "long enough to be kept 4711";

test("a session that ends leaves the page as it was typed until its person signs in again", async ({ visitor }) => {
  const { token } = await call<{ token: string }>("POST", "/invitations", { email: "ended@example.com", role: "editor" });
  await visitor.goto(`/invite/#${token}`);
  await visitor.getByLabel("Name").fill("Enda");
  await visitor.getByLabel("Password").fill(PASSWORD);
  await visitor.getByRole("button", { name: "Join" }).click();
  await expect(visitor.getByRole("heading", { name: "Documents", level: 1 })).toBeVisible();
  await visitor.getByRole("link", { name: "Tags", exact: true }).click();
  await visitor.getByRole("button", { name: "New tag" }).first().click();
  await visitor.getByRole("dialog").getByLabel("Name").fill("typed before the end");
  await visitor.context().clearCookies();
  await visitor
    .getByRole("dialog")
    .getByRole("button", { name: /^(Create|Make|Save)/ })
    .click();
  const again = visitor.getByRole("dialog", { name: "You were signed out" });
  await expect(again.getByLabel("E-mail address")).toHaveValue("ended@example.com");
  await again.getByLabel("Password").fill(PASSWORD);
  await again.getByRole("button", { name: "Sign in", exact: true }).click();
  await expect(again).toHaveCount(0);
  await expect(visitor.getByRole("dialog").getByLabel("Name")).toHaveValue("typed before the end");
  await visitor
    .getByRole("dialog")
    .getByRole("button", { name: /^(Create|Make|Save)/ })
    .click();
  await expect(visitor.getByRole("row", { name: /typed before the end/ })).toBeVisible();
});
