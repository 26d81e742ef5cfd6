import { useState } from "react";

/**
 * The item of a menu that Enter chooses: the first one when the one before is gone. The menu alone leaves none active
 * when the server's answer takes all items away from under it, and Enter does nothing.
 */
export function useActiveItem(values: readonly string[]): { value: string; onValueChange: (value: string) => void } {
  const [chosen, onValueChange] = useState("");
  return { value: values.includes(chosen) ? chosen : (values[0] ?? ""), onValueChange };
}
