import type { Permission } from "@/lib/permissions";

const ROLES = [
  { role: "viewer", may: "Can see and search documents" },
  { role: "editor", may: "Can also change documents, tags, knowledge bases and prompts" },
  { role: "admin", may: "Can also manage settings, people, keys and tokens" },
  { role: "owner", may: "Can do everything" },
] as const;

/** The roles that a person with this permission can give; only owners make owners. */
export function rolesFor(permission: Permission | null) {
  return ROLES.filter(({ role }) => role !== "owner" || permission === "owner");
}
