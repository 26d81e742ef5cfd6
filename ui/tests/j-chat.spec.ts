import { call, expect, test } from "./fixtures";
import { type FakeChat, fakeChat } from "./fake-chat";
import { pdfOf } from "./made-pdf";

const WORDS = "The walrus keeps the bronze key in the harbour.";

let chat: FakeChat;
let threadId: string;

test.beforeAll(async () => {
  chat = await fakeChat();
  await call("PUT", "/llm-providers/hosted_vllm", { api_key: "fake-chat-key-0123456789", api_base: chat.url });
  const { tag_id: tagId } = await call<{ tag_id: string }>("POST", "/tags", { name: "chat of walruses" });
  const { kb_id: kbId } = await call<{ kb_id: string }>("POST", "/knowledge-bases", { name: "Walruses", tag_ids: [tagId] });
  const pages = [{ lines: ["Nothing of note."] }, { lines: ["Preamble", WORDS] }];
  const { documents } = await call<{ documents: { document_id: string }[] }>("POST", "/documents", {
    documents: [{ name: "walruses.pdf", content: pdfOf(pages).toString("base64"), tag_ids: [tagId] }],
  });
  await expect
    .poll(async () => (await call<{ status: string }>("GET", `/documents/${documents[0]?.document_id}/status`)).status, { timeout: 60_000 })
    .toBe("SUCCESS");
  const thread = await call<{ thread_id: string }>("POST", "/chat/threads", {
    kb_ids: [kbId],
    model: "hosted_vllm/fake-chat",
    searches_again: false,
    score_threshold: 0.5,
  });
  threadId = thread.thread_id;
});

test.afterAll(async () => {
  await chat.close();
});

test("an answer streams, cites, survives a reload, and its citation opens the page with the box on the words", async ({ page }) => {
  chat.says("The walrus keeps the bronze key in the harbour [1].");
  await page.goto(`/chat/?thread=${threadId}`);
  await page.getByLabel("Question").fill("Who keeps the bronze key in the harbour?");
  await page.keyboard.press("Enter");
  const citation = page.getByRole("link", { name: /^Citation 1: walruses\.pdf, page 2/ });
  await expect(citation).toBeVisible();
  await page.reload();
  await expect(page.getByRole("log")).toContainText("The walrus keeps the bronze key");
  await citation.click();
  await expect(page).toHaveURL(/page=2/);
  await expect(page.locator(".pdf-page .passage-box").first()).toBeVisible();
});

test("a reload in the middle of an answer goes on reading it; Esc stops it, its words stay, and what it used is told", async ({ page }) => {
  chat.says("It begins and goes on", { holds: true });
  await page.goto(`/chat/?thread=${threadId}`);
  await page.getByLabel("Question").fill("Tell a long story of the walrus and the bronze key.");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("log")).toContainText("It begins and goes on");
  await page.reload();
  await expect(page.getByRole("log")).toContainText("It begins and goes on");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("log")).toContainText(/Stopped\. About [\d,]+ tokens/);
  await expect(page.getByRole("log")).toContainText("It begins and goes on");
});
