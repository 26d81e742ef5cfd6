// Ask a knowledge base, and print the answer as it comes: node chat.mjs KB_ID QUESTION [MODEL]
const [kbId, question, model] = process.argv.slice(2);
const { ANALYTIQ_URL, ANALYTIQ_ORGANIZATION_ID, ANALYTIQ_TOKEN } = process.env;
const headers = { Authorization: `Bearer ${ANALYTIQ_TOKEN}`, "Content-Type": "application/json" };

async function send(route, body) {
  const url = `${ANALYTIQ_URL}/v0/orgs/${ANALYTIQ_ORGANIZATION_ID}/chat/threads${route}`;
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${answer.code}: ${answer.detail}`);
  return answer;
}

/** The events of an answer; a connection that breaks is made again after the last event that came. */
async function* follow(path) {
  let lastId = null;
  for (;;) {
    try {
      const resume = lastId ? { "Last-Event-ID": lastId } : {};
      const response = await fetch(ANALYTIQ_URL + path, { headers: { ...headers, ...resume } });
      if (!response.ok) throw new Error((await response.json()).detail);
      let text = "";
      for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
        text += piece;
        const blocks = text.split("\n\n");
        text = blocks.pop();
        for (const block of blocks) {
          const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s).slice(0, 2)));
          if (!fields.data) continue; // a sign of life
          lastId = fields.id;
          yield { name: fields.event, data: JSON.parse(fields.data) };
          if (fields.event === "done") return;
        }
      }
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // what fetch throws where the network fails
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

const { thread_id } = await send("", { kb_ids: [kbId], model: model ?? null });
const { events_path } = await send(`/${thread_id}/messages`, { content: question });
for await (const { name, data } of follow(events_path)) {
  if (name === "token") process.stdout.write(data.text);
  if (name !== "done") continue;
  console.log();
  for (const { number, source, page, quote } of data.citations) {
    console.log(`[${number}] ${source}, page ${page}: ${quote}`);
  }
  if (data.error) throw new Error(data.error.detail);
}
