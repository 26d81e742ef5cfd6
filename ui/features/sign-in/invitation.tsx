"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { useEffect, useState } from "react";

import { answered, api } from "@/api/client";
import { Field, formError, Input } from "@/components/ui/field";
import { SkeletonBlock } from "@/components/feedback";
import { Banner } from "@/components/state";
import { Button, buttonClass } from "@/components/ui/button";
import { cookiePerson, session, type SignedIn } from "@/state/session";

import { Frame } from "./frame";
import { useLinkSecret } from "./link-secret";
import { invitationKeys, invitationQuery } from "./queries";

/** Becomes a member by an invitation's link: as somebody new, or as whoever is signed in here. */
export function Invitation() {
  const token = useLinkSecret();
  const router = useRouter();
  const client = useQueryClient();
  const [signedIn, setSignedIn] = useState<SignedIn | null>(null);
  useEffect(() => {
    void cookiePerson().then(setSignedIn);
  }, []);
  const invitation = useQuery(invitationQuery(token));
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const accept = useMutation({
    mutationFn: async (isNew: boolean) => {
      const secret = { token: token ?? "" };
      const own = isNew ? { name: name.trim(), password, ...(invitation.data?.email === null && { email: email.trim() }) } : {};
      const headers = !isNew && signedIn ? { "X-CSRF-Token": signedIn.csrf_token } : {};
      return answered(api.POST("/v0/auth/invitations/accept", { body: { ...secret, ...own }, headers }));
    },
    onSuccess: (person) => {
      // All but the invitation itself: this page would ask for it again, and it is used up.
      client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== invitationKeys.all[0] });
      const joined = person.organizations.find((item) => item.organization_name === invitation.data?.organization_name);
      session.beginAs(person, joined?.organization_id ?? null);
      router.replace("/documents/");
    },
  });
  if (token === "") return <Refused message="The link is not whole: open it as it was sent to you." />;
  if (invitation.error) return <Refused message={invitation.error.message} />;
  if (!invitation.data)
    return (
      <Frame title="Invitation">
        <SkeletonBlock lines={4} />
      </Frame>
    );
  const { organization_name: organization, role } = invitation.data;
  const general = formError(accept.error, ["email", "name", "password"]);
  return (
    <Frame title={`Join ${organization}`}>
      <p className="text-text-2">
        You are invited as <strong className="font-semibold text-text">{role}</strong>
        {invitation.data.email && <> with the address {invitation.data.email}</>}.
      </p>
      {general && <Banner tone="failed">{general}</Banner>}
      {signedIn && (
        <Button variant="primary" disabled={accept.isPending} onClick={() => accept.mutate(false)}>
          Join as {signedIn.email}
        </Button>
      )}
      {!signedIn && (
        <form
          className="flex flex-col gap-4"
          onSubmit={(event) => {
            event.preventDefault();
            accept.mutate(true);
          }}
        >
          {invitation.data.email === null && (
            <Field label="E-mail address" hint="You sign in with it" error={accept.error} field="email">
              <Input type="email" required autoComplete="username" value={email} onChange={(event) => setEmail(event.target.value)} />
            </Field>
          )}
          <Field label="Name" error={accept.error} field="name">
            <Input required maxLength={100} autoComplete="name" value={name} onChange={(event) => setName(event.target.value)} />
          </Field>
          <Field label="Password" hint="At least 10 characters" error={accept.error} field="password">
            <Input
              type="password"
              required
              minLength={10}
              autoComplete="new-password"
              value={password}
              onChange={(event) => setPassword(event.target.value)}
            />
          </Field>
          <Button type="submit" variant="primary" disabled={accept.isPending}>
            {accept.isPending ? "Joining…" : "Join"}
          </Button>
        </form>
      )}
    </Frame>
  );
}

function Refused({ message }: { message: string }) {
  return (
    <Frame title="Invitation">
      <Banner tone="failed">{message}</Banner>
      <a className={buttonClass({}, "self-start")} href="/sign-in/">
        Sign in
      </a>
    </Frame>
  );
}
