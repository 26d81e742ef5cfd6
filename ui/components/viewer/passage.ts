/** A cited passage: where it is in the document's text. */

export interface Passage {
  firstPage: number;
  lastPage: number;
  /** Characters [start, end) of the document's text. */
  start: number;
  end: number;
}

/** `3-4:1200-1450`: pages 3 to 4, characters 1200 to 1450. */
export function readPassage(text: string | null): Passage | null {
  const match = /^(\d{1,9})-(\d{1,9}):(\d{1,12})-(\d{1,12})$/.exec(text ?? "");
  if (!match) return null;
  const [firstPage, lastPage, start, end] = match.slice(1).map(Number) as [number, number, number, number];
  return firstPage >= 1 && lastPage >= firstPage && end > start ? { firstPage, lastPage, start, end } : null;
}

/** The part of the passage that lies on a page, as [from, to) of the string that is that page's text.

The API counts characters, JavaScript units of UTF-16: an emoji before the passage is one of the first and two of the second. */
export function partOnPage(
  passage: Pick<Passage, "start" | "end">,
  page: { start: number; end: number; text: string },
): [number, number] | null {
  const from = Math.max(passage.start, page.start) - page.start;
  const to = Math.min(passage.end, page.end) - page.start;
  if (from >= to) return null;
  const characters = Array.from(page.text);
  const before = characters.slice(0, from).join("").length;
  return [before, before + characters.slice(from, to).join("").length];
}
