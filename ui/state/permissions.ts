/** What whoever is signed in may do: the one place that knows, from what the API says of them and of its operations. */

import { useQuery } from "@tanstack/react-query";

import type { operations } from "@/api/schema";
import { organizationQuery } from "@/api/queries";
import { includes, type Permission } from "@/lib/permissions";
import { useSession } from "@/state/session";

export type Operation = keyof operations;
const WHO: Record<Permission, string> = {
  read: "Everyone in the organization",
  write: "Editors, admins and owners",
  admin: "Admins and owners",
  owner: "Owners",
};

export interface Permissions {
  /** False while it is not known yet: nothing is offered that may be refused. */
  isKnown: boolean;
  permission: Permission | null;
  may: (operation: Operation) => boolean;
  /** Who can, for those who cannot. */
  whoMay: (operation: Operation) => string;
}

export function usePermissions(): Permissions {
  const isSignedIn = Boolean(useSession());
  const { data } = useQuery({ ...organizationQuery(), enabled: isSignedIn });
  const permission = data?.permission ?? null;
  const needed = (operation: Operation): Permission => data?.permission_needed[operation] ?? "owner";
  return {
    isKnown: data !== undefined,
    permission,
    may: (operation) => permission !== null && includes(permission, needed(operation)),
    whoMay: (operation) => WHO[needed(operation)],
  };
}

/** Whether whoever is signed in may call an operation. */
export function useMay(operation: Operation): boolean {
  return usePermissions().may(operation);
}
