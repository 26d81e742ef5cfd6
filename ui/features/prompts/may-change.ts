import { isPerson, useSession } from "@/lib/session";

/** Whether whoever is signed in may change anything; of a token that is not known, and the API says so when asked. */
export function useMayChange(): boolean {
  const held = useSession();
  if (!isPerson(held)) return true;
  const role = held.organizations.find((item) => item.organization_id === held.organizationId)?.role;
  return role !== "viewer";
}
