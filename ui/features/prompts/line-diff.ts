/** Two texts compared line by line. */

export interface DiffLine {
  kind: "same" | "added" | "removed";
  text: string;
}

/** Past this many pairs of lines the table of the comparison would take seconds and hundreds of megabytes. */
const MOST_PAIRS = 4_000_000;

/** The lines of both, those in common once; of the longest common sequences, one that removes before it adds. */
export function diffLines(before: string, after: string): DiffLine[] {
  const old = before.split("\n");
  const now = after.split("\n");
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail += 1;
  const same = (text: string): DiffLine => ({ kind: "same", text });
  return [
    ...old.slice(0, head).map(same),
    ...middle(old.slice(head, old.length - tail), now.slice(head, now.length - tail)),
    ...old.slice(old.length - tail).map(same),
  ];
}

function middle(old: readonly string[], now: readonly string[]): DiffLine[] {
  if (old.length * now.length > MOST_PAIRS) {
    return [...old.map((text) => ({ kind: "removed" as const, text })), ...now.map((text) => ({ kind: "added" as const, text }))];
  }
  // common[a * width + b]: how many lines old[a:] and now[b:] have in common.
  const width = now.length + 1;
  const common = new Uint32Array((old.length + 1) * width);
  const at = (a: number, b: number) => common[a * width + b] ?? 0;
  for (let a = old.length - 1; a >= 0; a -= 1) {
    for (let b = now.length - 1; b >= 0; b -= 1) {
      common[a * width + b] = old[a] === now[b] ? at(a + 1, b + 1) + 1 : Math.max(at(a + 1, b), at(a, b + 1));
    }
  }
  const lines: DiffLine[] = [];
  let a = 0;
  let b = 0;
  while (a < old.length || b < now.length) {
    if (a < old.length && b < now.length && old[a] === now[b]) {
      lines.push({ kind: "same", text: old[a] ?? "" });
      a += 1;
      b += 1;
    } else if (a < old.length && (b === now.length || at(a + 1, b) >= at(a, b + 1))) {
      lines.push({ kind: "removed", text: old[a] ?? "" });
      a += 1;
    } else {
      lines.push({ kind: "added", text: now[b] ?? "" });
      b += 1;
    }
  }
  return lines;
}

export interface DiffPart {
  lines: DiffLine[];
  /** So many lines that are the same were left out before these. */
  hidden: number;
}

/** Only what changed, with so many lines around it. */
export function partsOf(lines: readonly DiffLine[], around = 3): { parts: DiffPart[]; hiddenAtEnd: number } {
  const isShown = lines.map((_, place) => lines.slice(Math.max(0, place - around), place + around + 1).some(({ kind }) => kind !== "same"));
  const parts: DiffPart[] = [];
  let hidden = 0;
  lines.forEach((line, place) => {
    if (!isShown[place]) {
      hidden += 1;
      return;
    }
    const current = parts.at(-1);
    if (current === undefined || hidden > 0) parts.push({ lines: [line], hidden });
    else current.lines.push(line);
    hidden = 0;
  });
  return { parts, hiddenAtEnd: hidden };
}
