/** Where an answer cites: by the places that the API tells, as brackets with a number may be words of the answer. */

export interface Cited {
  number: number;
  /** Characters [start, end) of the answer. */
  marks: number[][];
}

export interface Piece<Citation> {
  piece: string;
  citation?: Citation;
}

/** The answer in pieces, each of them plain or a mark; a mark of several passages leads to the first of them. */
export function splitAtCitations<Citation extends Cited>(answer: string, citations: readonly Citation[]): Piece<Citation>[] {
  // The API counts characters, JavaScript units of UTF-16.
  const characters = Array.from(answer);
  const marks = citations
    .flatMap((citation) => citation.marks.map(([start = 0, end = 0]) => ({ start, end, citation })))
    .sort((one, two) => one.start - two.start);
  const pieces: Piece<Citation>[] = [];
  let at = 0;
  for (const { start, end, citation } of marks) {
    if (start < at || end <= start) continue;
    if (start > at) pieces.push({ piece: characters.slice(at, start).join("") });
    pieces.push({ piece: characters.slice(start, end).join(""), citation });
    at = end;
  }
  if (at < characters.length) pieces.push({ piece: characters.slice(at).join("") });
  return pieces;
}
