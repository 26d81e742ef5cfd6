import * as z from "zod/mini";

// The pages' security policy allows no code that is made at run time.
z.config({ jitless: true });

const isBlank = (text: string) => text.trim() === "";

/** A text with more than spaces in it. */
export function required(problem: string) {
  return z.string().check(z.refine((text) => !isBlank(text), problem));
}

export function emailAddress() {
  return z.string().check(z.refine((text) => /^[^@\s]+@[^@\s]+$/.test(text.trim()), "Enter an e-mail address, such as ada@example.com."));
}

export function newPassword() {
  return z.string().check(z.minLength(10, "Use at least 10 characters."));
}

/** A number as typed; `isOptional` allows an empty field. */
export function typedNumber(
  problem: string,
  { least, most = Infinity, isWhole = true, isOptional = false }: { least: number; most?: number; isWhole?: boolean; isOptional?: boolean },
) {
  const isFine = (text: string) => {
    if (isBlank(text)) return isOptional;
    const value = Number(text);
    return value >= least && value <= most && (!isWhole || Number.isInteger(value));
  };
  return z.string().check(z.refine(isFine, problem));
}
