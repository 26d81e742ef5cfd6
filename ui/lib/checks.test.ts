import { describe, expect, it } from "vitest";

import { emailAddress, newPassword, required, typedNumber } from "./checks";

const passes = (schema: { safeParse: (value: unknown) => { success: boolean } }, ...texts: string[]) =>
  texts.map((text) => schema.safeParse(text).success);

describe("checks of what is typed", () => {
  it("require more than spaces", () => {
    expect(passes(required("Enter a name."), "a", " a ", "", "  ")).toEqual([true, true, false, false]);
  });
  it("tell an e-mail address by its @, spaces around it aside", () => {
    expect(passes(emailAddress(), "ada@example.com", " ada@localhost ", "ada", "ada@", "a b@c")).toEqual([true, true, false, false, false]);
  });
  it("ask for ten characters of a password", () => {
    expect(passes(newPassword(), "123456789", "1234567890")).toEqual([false, true]);
  });
  it("keep a number within its limits", () => {
    expect(passes(typedNumber("1 to 5.", { least: 1, most: 5 }), "1", "5", "0", "6", "1.5", "", "x")).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
      false,
    ]);
    expect(passes(typedNumber("0 to 2.", { least: 0, most: 2, isWhole: false, isOptional: true }), "1.5", "", "2.1")).toEqual([
      true,
      true,
      false,
    ]);
  });
});
