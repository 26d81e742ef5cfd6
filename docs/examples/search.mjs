// Upload a document, wait until it can be found, ask a question: node search.mjs FILE QUESTION
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const [path, question] = process.argv.slice(2);
const { ANALYTIQ_URL, ANALYTIQ_ORGANIZATION_ID, ANALYTIQ_TOKEN } = process.env;

/** Calls the API; `body` is a form, or an object that is sent as JSON. */
async function call(method, route, body) {
  const headers = { Authorization: `Bearer ${ANALYTIQ_TOKEN}` };
  const isForm = body instanceof FormData;
  if (body && !isForm) headers["Content-Type"] = "application/json";
  const response = await fetch(`${ANALYTIQ_URL}/v0/orgs/${ANALYTIQ_ORGANIZATION_ID}${route}`, {
    method,
    headers,
    body: body && !isForm ? JSON.stringify(body) : body,
  });
  const answer = await response.json();
  // Errors are problem details: `code` for programs, `detail` for people.
  if (!response.ok) throw new Error(`${answer.code}: ${answer.detail}`);
  return answer;
}

const name = `JavaScript example ${crypto.randomUUID().slice(0, 8)}`;
const { tag_id } = await call("POST", "/tags", { name });
const { kb_id } = await call("POST", "/knowledge-bases", { name, tag_ids: [tag_id] });

const form = new FormData();
form.append("files", new Blob([await readFile(path)]), basename(path));
form.append("tag_ids", tag_id);
form.append("on_duplicate", "create");
const { documents } = await call("POST", "/documents", form);
const { document_id } = documents[0];

for (;;) {
  const document = await call("GET", `/documents/${document_id}`);
  if (document.error) throw new Error(document.error.detail);
  const states = document.knowledge_bases.map((knowledgeBase) => knowledgeBase.state);
  if (document.state === "extracted" && states.every((state) => state === "indexed")) break;
  await pause(200);
}

const { results } = await call("POST", `/knowledge-bases/${kb_id}/search`, { query: question, top_k: 1 });
for (const hit of results) console.log(`${hit.source}, page ${hit.first_page}: ${hit.content}`);
