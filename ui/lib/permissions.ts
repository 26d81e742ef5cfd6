export type Permission = "read" | "write" | "admin" | "owner";

const ORDER: readonly Permission[] = ["read", "write", "admin", "owner"];

/** Each permission includes those before it. */
export function includes(held: Permission, needed: Permission): boolean {
  return ORDER.indexOf(held) >= ORDER.indexOf(needed);
}
