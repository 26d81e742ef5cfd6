"use client";

import { useQuery } from "@tanstack/react-query";
import dynamic from "next/dynamic";
import { useState } from "react";

import { ConfirmDialog } from "@/components/ui/dialog";
import { EmptyState, tellFailure } from "@/components/feedback";
import { openOrganization } from "@/components/organization-switcher";
import { PageHead } from "@/components/page-head";
import { ScrollArea } from "@/components/scroll-area";
import { Button } from "@/components/ui/button";
import { isPerson, type PersonSession, session, useSession } from "@/state/session";

import { OpenSessions } from "./open-sessions";
import { ownSessionQuery } from "./queries";

const ChangeName = dynamic(() => import("./change-name").then((module) => module.ChangeName), { ssr: false });

const ChangePassword = dynamic(() => import("./change-password").then((module) => module.ChangePassword), { ssr: false });

/** What belongs to the person, and not to an organization. */
export function Account() {
  const held = useSession();
  return (
    <>
      <PageHead title="Your account" />
      <ScrollArea label="Your account" className="p-4">
        {isPerson(held) ? (
          <div className="flex max-w-[640px] flex-col gap-6">
            <Person person={held} />
            <ChangePassword email={held.email} />
            <OpenSessions />
            <SignOut />
          </div>
        ) : (
          held && (
            <EmptyState title="You are signed in with an access token">
              Access tokens have no account. Sign in with your e-mail address to see yours.
            </EmptyState>
          )
        )}
      </ScrollArea>
    </>
  );
}

function Person({ person }: { person: PersonSession }) {
  // Roles may have changed since the sign-in; until the answer is there, those of then are shown.
  const { data } = useQuery(ownSessionQuery());
  const organizations = data?.organizations ?? person.organizations;
  return (
    <>
      <ChangeName person={person} name={data?.name ?? person.name} />
      <dl className="grid grid-cols-[160px_minmax(0,1fr)] gap-x-4 gap-y-2">
        <dt className="text-text-2">E-mail address</dt>
        <dd className="break-all">{data?.email ?? person.email}</dd>
      </dl>
      <section aria-labelledby="organizations" className="flex flex-col gap-2">
        <h2 id="organizations" className="text-lg font-semibold">
          Organizations
        </h2>
        <ul className="border-t border-line">
          {organizations.map((organization) => (
            <li key={organization.organization_id} className="flex min-h-11 items-center gap-3 border-b border-line">
              <span className="min-w-0 flex-1 truncate font-medium" title={organization.organization_name}>
                {organization.organization_name}
              </span>
              <span className="text-text-2">{organization.role}</span>
              <span className="w-[84px] text-right">
                {organization.organization_id === person.organizationId ? (
                  <span className="text-text-2">Open</span>
                ) : (
                  <Button
                    size="small"
                    aria-label={`Switch to ${organization.organization_name}`}
                    onClick={() => openOrganization(organization.organization_id)}
                  >
                    Switch
                  </Button>
                )}
              </span>
            </li>
          ))}
        </ul>
      </section>
    </>
  );
}

function SignOut() {
  const [isAsking, setAsking] = useState(false);
  const failed = (error: unknown) => tellFailure("You are still signed in", error);
  return (
    <section aria-labelledby="sign-out" className="flex flex-col gap-2 border-t border-line pt-5">
      <h2 id="sign-out" className="text-lg font-semibold">
        Sign out
      </h2>
      <p className="text-text-2">If someone else may be signed in as you, sign out everywhere and change your password.</p>
      <div className="flex flex-wrap gap-2">
        <Button onClick={() => void session.signOut().catch(failed)}>Sign out here</Button>
        <Button className="text-failed" onClick={() => setAsking(true)}>
          Sign out everywhere
        </Button>
      </div>
      <ConfirmDialog
        open={isAsking}
        onOpenChange={setAsking}
        title="Sign out everywhere?"
        action="Sign out everywhere"
        onConfirm={() => void session.signOut(true).catch(failed)}
      >
        You are signed out in every browser, including this one. Access tokens stay valid.
      </ConfirmDialog>
    </section>
  );
}
