"use client";

import { Check, ChevronsUpDown } from "lucide-react";
import { DropdownMenu } from "radix-ui";

import { isPerson, session, useSession } from "@/state/session";

/** Nothing of the organization before is kept: the page begins anew. */
export function openOrganization(organizationId: string): void {
  const held = session.current();
  if (!isPerson(held) || held.organizationId === organizationId) return;
  session.beginAs({ ...held, csrf_token: held.csrfToken }, organizationId);
  location.assign("/documents/");
}

/** The organization that is open; whoever is in several opens another here. */
export function OrganizationSwitcher({ name }: { name: string }) {
  const held = useSession();
  const mark = (
    <>
      <img src="/icon.svg" alt="" width={20} height={20} />
      <span className="min-w-0 flex-1 truncate text-left max-lg:sr-only">{name}</span>
    </>
  );
  if (!isPerson(held) || held.organizations.length < 2) {
    return (
      <div className="flex h-9 items-center gap-2 px-2 font-semibold" title={name}>
        {mark}
      </div>
    );
  }
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger asChild>
        <button type="button" title={name} className="flex h-9 items-center gap-2 rounded-md px-2 font-semibold hover:bg-hover">
          {mark}
          <span className="sr-only">, open another organization</span>
          <ChevronsUpDown aria-hidden size={14} className="shrink-0 text-text-3 max-lg:hidden" />
        </button>
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="layer appear z-50 min-w-[200px] p-1" sideOffset={6} align="start" collisionPadding={8}>
          <DropdownMenu.RadioGroup value={held.organizationId} onValueChange={openOrganization}>
            {held.organizations.map((organization) => (
              <DropdownMenu.RadioItem key={organization.organization_id} value={organization.organization_id} className="menu-item">
                <span className="max-w-[220px] flex-1 truncate">{organization.organization_name}</span>
                <span className="text-text-3">{organization.role}</span>
                <DropdownMenu.ItemIndicator>
                  <Check aria-hidden size={14} />
                </DropdownMenu.ItemIndicator>
              </DropdownMenu.RadioItem>
            ))}
          </DropdownMenu.RadioGroup>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
