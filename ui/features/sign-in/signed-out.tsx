"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { useCallback, useEffect, useState } from "react";

import { answered, api } from "@/api/client";
import { organizationQuery } from "@/api/queries";
import { Dialog } from "@/components/ui/dialog";
import { Banner } from "@/components/state";
import { Button, buttonClass } from "@/components/ui/button";
import { Field, Input } from "@/components/ui/field";
import { cookiePerson, isPerson, session, type SignedIn, useEndedSession } from "@/state/session";

import { signInWaysQuery } from "./queries";

/** Sign in again over the page whose session ended: what was typed there stays. */
export function SignedOut() {
  const ended = useEndedSession();
  const client = useQueryClient();
  const router = useRouter();
  const goOn = useCallback(
    (person: SignedIn) => {
      const isSame =
        isPerson(ended) &&
        ended.email === person.email &&
        person.organizations.some((item) => item.organization_id === ended.organizationId);
      // What another person typed is not theirs to see.
      if (!isSame) {
        session.beginAs(person);
        location.assign("/documents/");
        return;
      }
      session.beginAs(person, ended.organizationId);
      void client.invalidateQueries();
    },
    [client, ended],
  );
  useEffect(() => {
    // Signed in again in another tab.
    const look = () => void cookiePerson().then((person) => person && isPerson(ended) && ended.email === person.email && goOn(person));
    look();
    addEventListener("focus", look);
    return () => removeEventListener("focus", look);
  }, [ended, goOn]);
  const leave = () => {
    session.abandon();
    client.clear();
    router.replace("/sign-in/");
  };
  return (
    <Dialog
      open
      onOpenChange={(isOpen) => !isOpen && leave()}
      title="You were signed out"
      description="Your session has ended. Sign in to continue: what you typed and the files you chose are still here."
    >
      {isPerson(ended) ? (
        <PersonAgain email={ended.email} onSignedIn={goOn} />
      ) : (
        <TokenAgain organizationId={ended?.organizationId ?? ""} />
      )}
    </Dialog>
  );
}

function PersonAgain({ email, onSignedIn }: { email: string; onSignedIn: (person: SignedIn) => void }) {
  const [password, setPassword] = useState("");
  const ways = useQuery(signInWaysQuery());
  const signIn = useMutation({
    mutationFn: () => answered(api.POST("/v0/auth/sign-in", { body: { email, password } })),
    onSuccess: onSignedIn,
  });
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        signIn.mutate();
      }}
    >
      {signIn.error && <Banner tone="failed">{signIn.error.message}</Banner>}
      <Field label="E-mail address">
        <Input type="email" autoComplete="username" readOnly value={email} />
      </Field>
      <Field label="Password">
        <Input
          type="password"
          required
          autoFocus
          autoComplete="current-password"
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
      </Field>
      <Button type="submit" variant="primary" disabled={signIn.isPending}>
        {signIn.isPending ? "Signing in…" : "Sign in"}
      </Button>
      {ways.data?.oidc_name && (
        <a className={buttonClass()} href="/v0/auth/oidc/sign-in?next=%2Fdocuments%2F" target="_blank" rel="noopener">
          Sign in with {ways.data.oidc_name} in a new tab
        </a>
      )}
    </form>
  );
}

function TokenAgain({ organizationId }: { organizationId: string }) {
  const client = useQueryClient();
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const signIn = async () => {
    const response = await fetch(`/v0/orgs/${organizationId}`, { headers: { Authorization: `Bearer ${token.trim()}` } });
    if (!response.ok) {
      setProblem("This token does not open the organization. Paste another one.");
      return;
    }
    session.begin({ organizationId, token: token.trim() });
    await client.invalidateQueries({ queryKey: organizationQuery().queryKey });
    void client.invalidateQueries();
  };
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        signIn().catch(() => setProblem("The server does not answer. Try again."));
      }}
    >
      {problem && <Banner tone="failed">{problem}</Banner>}
      <Field label="Access token">
        <Input
          className="font-mono"
          type="password"
          required
          autoFocus
          autoComplete="off"
          value={token}
          onChange={(event) => setToken(event.target.value)}
        />
      </Field>
      <Button type="submit" variant="primary">
        Sign in
      </Button>
    </form>
  );
}
