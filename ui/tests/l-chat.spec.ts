import { call, expect, expectAccessible, test } from "./fixtures";
import { type FakeChat, fakeChat } from "./fake-chat";

const ANSWER = `## Summary

**Dense** retrieval finds the otters [1].

| Method | Finds |
|---|---|
| dense | otters |

\`\`\`python
print("otters [1]")
\`\`\`

![a plan](https://tracker.invalid/pixel.png) and [the source](https://example.invalid/otters?q=1), [a script](javascript:alert(1)), <img src="https://tracker.invalid/raw.png" onerror="alert(1)">
`;

let chat: FakeChat;
let kbId = "";

test.beforeAll(async () => {
  chat = await fakeChat();
  const { tag_id: tagId } = await call<{ tag_id: string }>("POST", "/tags", { name: "chat of otters" });
  const made = await call<{ kb_id: string }>("POST", "/knowledge-bases", { name: "Chat of otters", tag_ids: [tagId] });
  kbId = made.kb_id;
  const content = Buffer.from("Dense retrieval finds the otters.").toString("base64");
  await call("POST", "/documents", { documents: [{ name: "chat-otters.txt", content, tag_ids: [tagId] }] });
  await expect
    .poll(async () => (await call<{ chunk_count: number }>("GET", `/knowledge-bases/${kbId}`)).chunk_count, { timeout: 60_000 })
    .toBe(1);
});

test.afterAll(async () => {
  await chat.close();
});

test("chat without a model says so before a question is written, and leads to the form of a key", async ({ page }) => {
  await page.route("**/models?*", (route) =>
    route.fulfill({ json: { models: [], total_count: 0, skip: 0, unreachable: {}, default_chat_model: null } }),
  );
  await page.goto("/chat/");
  await expect(page.getByText("Chat needs a chat model.")).toBeVisible();
  await expect(page.getByRole("button", { name: "New conversation" })).toBeDisabled();
  await expectAccessible(page);
  await page.getByRole("link", { name: "Add a provider key" }).click();
  await expect(page.getByRole("dialog")).toContainText("Add provider key");
});

test("an answer's Markdown is formatted, loads nothing from elsewhere, and its links are shown before they are followed", async ({
  page,
}) => {
  await call("PUT", "/llm-providers/hosted_vllm", { api_key: "fake-chat-key-0123456789", api_base: chat.url });
  const thread = await call<{ thread_id: string }>("POST", "/chat/threads", {
    kb_ids: [kbId],
    model: "hosted_vllm/fake-chat",
    searches_again: false,
    score_threshold: 0,
  });
  const elsewhere: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes(".invalid")) elsewhere.push(request.url());
  });
  chat.says(ANSWER);
  await page.goto(`/chat/?thread=${thread.thread_id}`);
  await page.getByLabel("Question").fill("What does dense retrieval find?");
  await page.keyboard.press("Enter");
  const log = page.getByRole("log");
  await expect(log.getByRole("heading", { name: "Summary" })).toBeVisible();
  await expect(log.locator("strong", { hasText: "Dense" })).toBeVisible();
  await expect(log.getByRole("cell", { name: "otters" })).toBeVisible();
  await expect(log.locator("pre")).toHaveText('print("otters [1]")');
  await expect(log.getByRole("link", { name: /^Citation 1: chat-otters\.txt/ })).toHaveCount(1);
  await expect(log.locator("img")).toHaveCount(0);
  await expect(log).toContainText("[Image: a plan, https://tracker.invalid/pixel.png]");
  await expect(log.getByRole("link", { name: "a script" })).toHaveCount(0);
  await expectAccessible(page);
  await log.getByRole("link", { name: "the source" }).click();
  await expect(page.getByRole("dialog")).toContainText("https://example.invalid/otters?q=1");
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.reload();
  await expect(log.getByRole("link", { name: /^Citation 1: chat-otters\.txt/ })).toHaveCount(1);
  expect(elsewhere).toEqual([]);
});
