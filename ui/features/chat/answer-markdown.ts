/** How an answer's Markdown is read: its citations become links, and no address of it is loaded or followed unseen. */

import type { Cited } from "./citations";

/** Parts of a Markdown tree that are looked at here. */
export interface MarkdownNode {
  type: string;
  value?: string;
  url?: string;
  children?: MarkdownNode[];
  position?: { start: { offset?: number }; end: { offset?: number } };
}

const CITATION = "citation:";

/** The number in the address of a citation's link; null for another address. */
export function citationNumber(href: string | undefined): number | null {
  return href?.startsWith(CITATION) ? Number(href.slice(CITATION.length)) : null;
}

/** Only addresses that a browser shows or mails to; scripts, files and data are dropped. */
export function safeAddress(address: string): string {
  if (address.startsWith(CITATION)) return /^citation:\d+$/.test(address) ? address : "";
  return /^(https?:\/\/|mailto:)/i.test(address) ? address : "";
}

/** A remark plugin that turns the marks of citations into links; marks in code stay as they are. */
export function linkCitations(answer: string, citations: readonly Cited[]) {
  // The API counts characters, Markdown's positions units of UTF-16.
  const units = unitsOf(answer);
  const marks = citations
    .flatMap(({ number, marks: places }) => places.map(([start = 0, end = 0]) => ({ number, start: units(start), end: units(end) })))
    .sort((one, two) => one.start - two.start);
  const visit = (node: MarkdownNode): void => {
    // An answer names no addresses of citations itself.
    if (node.type === "link" && citationNumber(node.url) !== null) node.url = "";
    // Links hold no links.
    if (node.children === undefined || node.type === "link" || node.type === "linkReference") return;
    node.children = node.children.flatMap((child) => (child.type === "text" ? splitText(child) : (visit(child), [child])));
  };
  const splitText = (text: MarkdownNode): MarkdownNode[] => {
    const { value = "", position } = text;
    const first = position?.start.offset;
    const last = position?.end.offset;
    // Where the source has escapes the offsets are not those of the text.
    if (first === undefined || last === undefined || answer.slice(first, last) !== value) return [text];
    const pieces: MarkdownNode[] = [];
    let at = first;
    for (const { number, start, end } of marks) {
      if (start < at || end > last || end <= start) continue;
      if (start > at) pieces.push({ type: "text", value: answer.slice(at, start) });
      pieces.push({ type: "link", url: `${CITATION}${number}`, children: [{ type: "text", value: answer.slice(start, end) }] });
      at = end;
    }
    if (at < last) pieces.push({ type: "text", value: answer.slice(at, last) });
    return pieces;
  };
  return () => (tree: MarkdownNode) => visit(tree);
}

/** From a number of characters to one of UTF-16 units. */
function unitsOf(text: string): (characters: number) => number {
  const starts = [0];
  for (const character of text) starts.push((starts.at(-1) ?? 0) + character.length);
  return (characters) => starts[Math.min(characters, starts.length - 1)] ?? 0;
}
