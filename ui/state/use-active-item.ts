import { useState } from "react";

/** While the answer to what was typed is awaited, the items of the one before are there still: those that match. */
export function stillMatching<Item>(
  items: readonly Item[],
  isAwaited: boolean,
  nameOf: (item: Item) => string,
  typed: string,
): readonly Item[] {
  return isAwaited ? items.filter((item) => nameOf(item).toLowerCase().includes(typed.trim().toLowerCase())) : items;
}

/**
 * The item of a menu that Enter chooses: the first one when the one before is gone. The menu alone leaves none active
 * when the server's answer takes all items away from under it, and Enter does nothing.
 */
export function useActiveItem(values: readonly string[]): { value: string; onValueChange: (value: string) => void } {
  const [chosen, onValueChange] = useState("");
  return { value: values.includes(chosen) ? chosen : (values[0] ?? ""), onValueChange };
}
