/** Colours that tell tags apart on light and dark ground, as dots. */
export const TAG_COLOURS = ["#2f6fed", "#b4531a", "#0f7b6c", "#8b3fd1", "#b3261e", "#8a6d00", "#c2338a", "#3f7d20", "#5b6b7f"] as const;

/** The same name has the same colour, before anybody chooses one. */
export function colourFor(name: string): string {
  let sum = 0;
  for (const character of name) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 9973;
  return TAG_COLOURS[sum % TAG_COLOURS.length] ?? TAG_COLOURS[0];
}
