"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { useEffect, useState } from "react";
import * as z from "zod/mini";

import { answered, api, type Schemas } from "@/api/client";
import { SkeletonBlock } from "@/components/feedback";
import { Banner } from "@/components/state";
import { Button, buttonClass } from "@/components/ui/button";
import { Form, FormFailure, showFailure, TextField, useSchemaForm } from "@/components/ui/form";
import { emailAddress, newPassword, required } from "@/lib/checks";
import { cookiePerson, session, type SignedIn } from "@/state/session";

import { Frame } from "./frame";
import { useLinkSecret } from "./link-secret";
import { invitationKeys, invitationQuery } from "./queries";

/** The page behind an invitation's link: joins as a new person, or as the one who is signed in. */
export function Invitation() {
  const token = useLinkSecret();
  const [signedIn, setSignedIn] = useState<SignedIn | null>(null);
  useEffect(() => {
    void cookiePerson().then(setSignedIn);
  }, []);
  const invitation = useQuery(invitationQuery(token));
  if (token === "") return <Refused message="The link is incomplete. Open it exactly as you received it." />;
  if (invitation.error) return <Refused message={invitation.error.message} />;
  if (!invitation.data)
    return (
      <Frame title="Invitation">
        <SkeletonBlock lines={4} />
      </Frame>
    );
  const { organization_name: organization, role, email } = invitation.data;
  const join = { token: token ?? "", organization };
  return (
    <Frame title={`Join ${organization}`}>
      <p className="text-text-2">
        You are invited as <strong className="font-semibold text-text">{role}</strong>
        {email && <> with the address {email}</>}.
      </p>
      {signedIn ? <JoinSignedIn {...join} signedIn={signedIn} /> : <JoinForm {...join} email={email} />}
    </Frame>
  );
}

interface Join {
  token: string;
  organization: string;
}

function useAccept({ token, organization }: Join, onError?: (error: Error) => void) {
  const router = useRouter();
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ own, headers }: { own?: Omit<Schemas["InvitationAcceptBody"], "token">; headers?: Record<string, string> }) =>
      answered(api.POST("/v0/auth/invitations/accept", { body: { token, ...own }, ...(headers && { headers }) })),
    onSuccess: (person) => {
      // All but the invitation itself: this page would ask for it again, and it is used up.
      client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== invitationKeys.all[0] });
      const joined = person.organizations.find((item) => item.organization_name === organization);
      session.beginAs(person, joined?.organization_id ?? null);
      router.replace("/documents/");
    },
    ...(onError && { onError }),
  });
}

function JoinSignedIn({ signedIn, ...join }: Join & { signedIn: SignedIn }) {
  const accept = useAccept(join);
  return (
    <>
      {accept.error && <Banner tone="failed">{accept.error.message}</Banner>}
      <Button
        variant="primary"
        disabled={accept.isPending}
        onClick={() => accept.mutate({ headers: { "X-CSRF-Token": signedIn.csrf_token } })}
      >
        Join as {signedIn.email}
      </Button>
    </>
  );
}

const SCHEMA = z.object({ email: emailAddress(), name: required("Enter your name."), password: newPassword() });

/** Signs up: `email` is null where the link invites any address. */
export function JoinForm({ email, ...join }: Join & { email: string | null }) {
  const form = useSchemaForm(SCHEMA, { email: email ?? "", name: "", password: "" });
  const accept = useAccept(join, (error) => showFailure(form, error));
  return (
    <Form
      form={form}
      className="flex flex-col gap-4"
      onSubmit={(values) =>
        accept.mutate({
          own: { name: values.name.trim(), password: values.password, ...(email === null && { email: values.email.trim() }) },
        })
      }
    >
      <FormFailure control={form.control} />
      {email === null && (
        <TextField
          control={form.control}
          name="email"
          label="E-mail address"
          hint="You sign in with it"
          type="email"
          required
          autoComplete="username"
        />
      )}
      <TextField control={form.control} name="name" label="Name" required maxLength={100} autoComplete="name" />
      <TextField
        control={form.control}
        name="password"
        label="Password"
        hint="At least 10 characters"
        type="password"
        required
        autoComplete="new-password"
      />
      <Button type="submit" variant="primary" disabled={accept.isPending}>
        {accept.isPending ? "Joining…" : "Join"}
      </Button>
    </Form>
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
