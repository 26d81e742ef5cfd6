import { describe, expect, it } from "vitest";

import { forEachBlock, readBlocks } from "./event-stream";

describe("readBlocks", () => {
  it("reads whole events and keeps what is not whole yet", () => {
    const { blocks, rest } = readBlocks('id: 1\nevent: token\ndata: {"text": "Thirty: days"}\n\nevent: tok');
    expect(blocks).toEqual([{ id: "1", name: "token", data: { text: "Thirty: days" } }]);
    expect(rest).toBe("event: tok");
  });

  it("tells signs of life and places apart from events", () => {
    const { blocks } = readBlocks(": still here\n\nid: 7.1\n\n");
    expect(blocks).toEqual([
      { id: null, name: "message", data: undefined },
      { id: "7.1", name: "message", data: undefined },
    ]);
  });
});

describe("forEachBlock", () => {
  it("reads events that come in pieces, cut within a character too", async () => {
    const bytes = new TextEncoder().encode('event: a\ndata: "Zürich"\n\nevent: b\ndata: 2\n\n');
    const cut = bytes.indexOf(0xc3) + 1;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(bytes.slice(0, cut));
        controller.enqueue(bytes.slice(cut));
        controller.close();
      },
    });
    const names: unknown[] = [];
    await forEachBlock(new Response(body), ({ name, data }) => names.push([name, data]));
    expect(names).toEqual([
      ["a", "Zürich"],
      ["b", 2],
    ]);
  });
});
