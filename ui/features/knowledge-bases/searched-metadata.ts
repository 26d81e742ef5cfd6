const MOST_KEYS = 10;

/** The metadata keys of a list with commas, each once. */
export function metadataKeys(text: string): string[] {
  const keys = text.split(",").map((key) => key.trim());
  return [...new Set(keys.filter(Boolean))].slice(0, MOST_KEYS);
}
