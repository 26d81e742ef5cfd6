import { call, expect, test } from "./fixtures";

interface Asked {
  kb: string | undefined;
  mode: string;
}

async function makeBase(name: string, text: string, other: string | null = null): Promise<string> {
  const { tag_id: tagId } = await call<{ tag_id: string }>("POST", "/tags", { name });
  const { kb_id: kbId } = await call<{ kb_id: string }>("POST", "/knowledge-bases", {
    name,
    tag_ids: [tagId],
    embedding_model: "local/all-minilm-l6-v2",
  });
  const texts = { [`${name}.txt`]: text, ...(other !== null && { [`${name}-too.txt`]: other }) };
  const documents = Object.entries(texts).map(([file, content]) => ({
    name: file,
    content: Buffer.from(content).toString("base64"),
    tag_ids: [tagId],
  }));
  await call("POST", "/documents", { documents });
  const chunks = async () => (await call<{ chunk_count: number }>("GET", `/knowledge-bases/${kbId}`)).chunk_count;
  await expect.poll(chunks, { timeout: 60_000 }).toBe(documents.length);
  return kbId;
}

test("a missing document is explained by the configuration of its column, in every chosen knowledge base", async ({ page }) => {
  test.setTimeout(150_000);
  const otters = await makeBase("otters", "Otters sleep holding hands.");
  const badgers = await makeBase("badgers", "Badgers dig long tunnels.");
  await page.goto(`/search/?kb=${otters},${badgers}&q=who+digs+tunnels&a=lexical&b=vector`);
  const asked: Asked[] = [];
  page.on("request", (request) => {
    const found = /knowledge-bases\/([^/]+)\/explain$/.exec(new URL(request.url()).pathname);
    if (found) asked.push({ kb: found[1], mode: (request.postDataJSON() as { mode: string }).mode });
  });
  await page.getByRole("region", { name: "Results B" }).getByRole("button", { name: "Ask why it is missing" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("configuration B: vector");
  await dialog.getByLabel("Which document?").fill("badgers");
  await dialog.getByRole("button", { name: "badgers.txt" }).click();
  await expect(dialog.getByRole("heading", { name: "badgers.txt is result 1" })).toBeVisible();
  await expect(dialog).toContainText("In badgers");
  await expect(dialog).toContainText("In otters");
  expect(asked.map(({ mode }) => mode)).toEqual(["vector", "vector"]);
  expect(asked.map(({ kb }) => kb).toSorted()).toEqual([otters, badgers].toSorted());
});

test("the best passages of a missing document open their page", async ({ page }) => {
  test.setTimeout(150_000);
  const kb = await makeBase("herrings", "Herrings swim in schools.", "Sharks swim, and seldom sleep.");
  await page.goto(`/search/?kb=${kb}&q=herrings+swim+in+schools&a=hybrid,k=1`);
  await page.getByRole("button", { name: "Ask why it is missing" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Which document?").fill("herrings-too");
  await dialog.getByRole("button", { name: "herrings-too.txt" }).click();
  const passage = dialog.getByRole("listitem").filter({ hasText: "Sharks swim, and seldom sleep." });
  await expect(passage).toContainText("Passage");
  await passage.getByRole("button", { name: "herrings-too.txt" }).click();
  await expect(dialog).toHaveCount(0);
  await expect(page.getByRole("complementary")).toContainText("herrings-too.txt");
});
