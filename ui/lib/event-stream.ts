/** Server-sent events as text (WHATWG HTML, 9.2), read over fetch: EventSource can send no token. */

export interface Block {
  name: string;
  id: string | null;
  /** Undefined where the block is a sign of life, or only says where the reader is. */
  data: unknown;
}

/** Blocks of `text` that are whole, and what is left of it. */
export function readBlocks(text: string): { blocks: Block[]; rest: string } {
  const parts = text.split("\n\n");
  const rest = parts.pop() ?? "";
  const blocks = parts.map((part): Block => {
    const fields: Record<string, string> = {};
    for (const line of part.split("\n")) {
      const colon = line.indexOf(":");
      if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 1).trimStart();
    }
    return {
      name: fields.event ?? "message",
      id: fields.id ?? null,
      data: fields.data === undefined ? undefined : (JSON.parse(fields.data) as unknown),
    };
  });
  return { blocks, rest };
}

/** Hand on each block of a response's body as it comes, until the server ends it. */
export async function forEachBlock(response: Response, onBlock: (block: Block) => void): Promise<void> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const piece = await reader?.read();
    if (piece === undefined || piece.done) return;
    const { blocks, rest } = readBlocks(text + decoder.decode(piece.value, { stream: true }));
    text = rest;
    for (const block of blocks) onBlock(block);
  }
}
