"use client";

import { parseAsString, useQueryState } from "nuqs";
import { useEffect, useState } from "react";

/** Take a parameter out of the address: it counts for this visit of the page, and not on the way back to it.

Returns the value, null without one, and a function that forgets it. */
export function useTakenParameter(name: string): [string | null, () => void] {
  const [given, setGiven] = useQueryState(name, parseAsString);
  const [taken, setTaken] = useState(given);
  if (given !== null && given !== taken) setTaken(given);
  useEffect(() => {
    if (given !== null) void setGiven(null, { history: "replace" });
  }, [given, setGiven]);
  return [taken, () => setTaken(null)];
}
