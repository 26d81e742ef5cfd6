import type { Page } from "@playwright/test";

import { call, expect, expectAccessible, test } from "./fixtures";

const PASSWORD = "correct horse battery";

interface Invitation {
  token: string;
}

test("an invitation that was accepted is not asked for again", async ({ visitor }) => {
  const invitation = await call<Invitation>("POST", "/invitations", { email: "eve@example.com", role: "viewer" });
  const refused: string[] = [];
  visitor.on("response", (response) => {
    if (response.status() >= 400) refused.push(`${response.status()} ${response.url()}`);
  });
  await visitor.goto(`/invite/#${invitation.token}`);
  await visitor.getByLabel("Name").fill("Eve");
  await visitor.getByLabel("Password").fill(PASSWORD);
  await visitor.getByRole("button", { name: "Join" }).click();
  await expect(visitor.getByRole("heading", { name: "Documents", level: 1 })).toBeVisible();
  expect(refused).toEqual([]);
});

/** What the page's own session is answered when it makes somebody an owner. */
function makeOwner(page: Page, email: string): Promise<number> {
  return page.evaluate(async (wanted) => {
    const { organizationId, csrfToken } = JSON.parse(sessionStorage.getItem("analytiq.session") ?? "{}") as Record<string, string>;
    const members = `/v0/orgs/${organizationId}/members`;
    const listed = (await (await fetch(members)).json()) as { members: { user_id: string; email: string }[] };
    const userId = listed.members.find((member) => member.email === wanted)?.user_id ?? "";
    const headers = { "Content-Type": "application/json", "X-CSRF-Token": csrfToken ?? "" };
    return (await fetch(`${members}/${userId}`, { method: "PUT", headers, body: JSON.stringify({ role: "owner" }) })).status;
  }, email);
}

test("an invited owner joins, invites somebody, signs out and in again, and it is all in the audit log", async ({ visitor, browser }) => {
  const invitation = await call<Invitation>("POST", "/invitations", { email: "ada@example.com", role: "owner" });
  await visitor.goto(`/invite/#${invitation.token}`);
  await expect(visitor.getByRole("heading", { name: /^Join / })).toBeVisible();
  await expectAccessible(visitor);
  await visitor.getByLabel("Name").fill("Ada");
  await visitor.getByLabel("Password").fill(PASSWORD);
  await visitor.getByRole("button", { name: "Join" }).click();
  await expect(visitor).toHaveURL(/\/documents\//);

  await visitor.goto("/settings/people/");
  await expect(visitor.getByRole("row", { name: /ada@example\.com/ })).toBeVisible();
  await visitor.getByRole("button", { name: "Invite" }).click();
  await visitor.getByLabel("E-mail address").fill("bob@example.com");
  await visitor.getByRole("dialog").getByRole("combobox").selectOption("viewer");
  await visitor.getByRole("dialog").getByRole("button", { name: "Invite" }).click();
  const link = await visitor.getByLabel("Invitation link").inputValue();
  await visitor.getByRole("button", { name: "Done" }).click();
  await expect(visitor.getByRole("row", { name: /bob@example\.com \(invited by ada@example\.com\)/ })).toBeVisible();
  await expectAccessible(visitor);

  const other = await browser.newPage();
  await other.goto(link);
  await other.getByLabel("Name").fill("Bob");
  await other.getByLabel("Password").fill(PASSWORD);
  await other.getByRole("button", { name: "Join" }).click();
  await expect(other).toHaveURL(/\/documents\//);
  await other.goto(new URL("/settings/people/", link).href);
  await expect(other.getByRole("row", { name: /bob@example\.com/ })).toBeVisible();
  // A viewer is not offered what they may not; whoever asks all the same is refused.
  await expect(other.getByLabel("Role of bob@example.com")).toHaveCount(0);
  await expect(other.getByRole("button", { name: "Invite" })).toHaveCount(0);
  expect(await makeOwner(other, "bob@example.com")).toBe(403);
  await other.close();

  const second = await visitor.context().newPage();
  await second.goto("/documents/");
  await expect(second.getByRole("heading", { name: "Documents", level: 1 })).toBeVisible();
  await second.getByRole("button", { name: "Preferences" }).click();
  await second.getByRole("menuitem", { name: "Sign out" }).click();
  await expect(second).toHaveURL(/\/sign-in\//);
  await second.getByLabel("E-mail address").fill("ada@example.com");
  await second.getByLabel("Password").fill("wrong");
  await second.getByRole("button", { name: "Sign in", exact: true }).click();
  await expect(second.getByText("The address or the password is wrong")).toBeVisible();
  await expectAccessible(second);
  await second.getByLabel("Password").fill(PASSWORD);
  await second.getByRole("button", { name: "Sign in", exact: true }).click();
  await expect(second.getByRole("heading", { name: "Documents", level: 1 })).toBeVisible();
  await second.goto("/settings/audit-log/");
  await expect(second.getByRole("row", { name: /bob@example\.com.*Update member.*Refused/ })).toBeVisible();
  await expect(second.getByRole("row", { name: /ada@example\.com.*Create invitation.*Done/ })).toBeVisible();
});
