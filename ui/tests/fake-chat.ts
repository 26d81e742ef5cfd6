/** A fake provider of a chat model, which speaks OpenAI's protocol: it says what a test wants, word by word. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface FakeChat {
  url: string;
  /** What it says next; `holds` leaves the answer open after its words, until the reader goes. */
  says: (text: string, options?: { holds?: boolean }) => void;
  close: () => Promise<void>;
}

export async function fakeChat(): Promise<FakeChat> {
  let next = { text: "", holds: false };
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      const piece = (delta: object, finish: string | null) =>
        `data: ${JSON.stringify({
          id: "chatcmpl-fake",
          object: "chat.completion.chunk",
          created: 1,
          model: "fake-chat",
          choices: [{ index: 0, delta, finish_reason: finish }],
        })}\n\n`;
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      for (const word of next.text.split(/(?<= )/)) response.write(piece({ role: "assistant", content: word }, null));
      if (!next.holds) response.end(`${piece({}, "stop")}data: [DONE]\n\n`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    says: (text, { holds = false } = {}) => {
      next = { text, holds };
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
