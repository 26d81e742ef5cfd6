const LEAST_TOKENS = 4;
const MOST_TOKENS = 8192;

/** Why chunks cannot be cut like this, as the server would say; null where they can. */
export function chunkingProblem(size: number, overlap: number): string | null {
  if (!Number.isInteger(size) || size < LEAST_TOKENS || size > MOST_TOKENS) return "The chunk size must be 4 to 8,192 tokens.";
  if (!Number.isInteger(overlap) || overlap < 0 || overlap >= size) return "The overlap must be smaller than the chunk size.";
  return null;
}
