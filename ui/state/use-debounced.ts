import { useEffect, useRef, useState } from "react";

const TYPING_MILLISECONDS = 300;

/** The value once it has not changed for so long. */
export function useDebounced<Value>(value: Value, milliseconds: number): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return settled;
}

/** The text of a field whose settled value is kept elsewhere, in the URL for example.

It follows `kept` when that changes by other means (Back, a cleared filter), and never overwrites what is being typed. */
export function useTypedText(kept: string, keep: (text: string) => void): [string, (text: string) => void] {
  const [text, setText] = useState(kept);
  const settled = useDebounced(text, TYPING_MILLISECONDS);
  const told = useRef(kept);
  const latestKeep = useRef(keep);
  useEffect(() => {
    latestKeep.current = keep;
  });
  useEffect(() => {
    if (settled === told.current) return;
    told.current = settled;
    latestKeep.current(settled);
  }, [settled]);
  useEffect(() => {
    if (kept === told.current) return;
    told.current = kept;
    setText(kept);
  }, [kept]);
  return [text, setText];
}
