/** A cited passage: where it is in the document's text, and where on a page's drawn words. */

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

/** The viewer, at the page that the passage begins on and with its words marked: what `readPassage` reads. */
export function passageHref(documentId: string, { firstPage, lastPage, start, end }: Passage): string {
  return `/documents/view/?id=${documentId}&page=${firstPage}&hl=${firstPage}-${lastPage}:${start}-${end}`;
}

/** Where the API says that a chunk, a hit or a passage is. */
export function passageOf(place: { first_page: number; last_page: number; start: number; end: number }): Passage {
  return { firstPage: place.first_page, lastPage: place.last_page, start: place.start, end: place.end };
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

/** A string and [from, to) within it that is to be marked. */
export interface MarkedPiece {
  from: number;
  to: number;
}

interface Letters {
  text: string;
  /** For each letter, the piece it comes from and its place there. */
  places: [piece: number, at: number][];
}

/** Without white space and with compatible letters made equal: the page and its extracted text differ in both. */
function lettersOf(pieces: readonly string[]): Letters {
  const text: string[] = [];
  const places: [number, number][] = [];
  pieces.forEach((piece, index) => {
    let at = 0;
    for (const character of piece) {
      for (const letter of character.normalize("NFKC")) {
        if (/\s/.test(letter) || letter === "\u00ad") continue;
        // Unit by unit, so that a place is found by an index of `text`.
        for (const unit of letter.split("")) {
          text.push(unit);
          places.push([index, at]);
        }
      }
      at += character.length;
    }
  });
  return { text: text.join(""), places };
}

/** What to mark in the pieces of text that a page is drawn from; null where the passage is not found in them. */
export function placeInPieces(pieces: readonly string[], wanted: string): Map<number, MarkedPiece> | null {
  const needle = lettersOf([wanted]).text;
  const hay = lettersOf(pieces);
  const begins = needle === "" ? -1 : hay.text.indexOf(needle);
  if (begins < 0) return null;
  const marks = new Map<number, MarkedPiece>();
  for (let at = begins; at < begins + needle.length; at += 1) {
    const [piece, place] = hay.places[at] as [number, number];
    const mark = marks.get(piece);
    if (mark) mark.to = place + 1;
    else marks.set(piece, { from: place, to: place + 1 });
  }
  return marks;
}

const ESCAPED: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPED[character] ?? character);
}
