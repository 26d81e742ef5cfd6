"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter, useSearchParams } from "next/navigation";
import { useEffect, useState } from "react";

import { answered, api } from "@/api/client";
import { Banner } from "@/components/state";
import { Button, buttonClass } from "@/components/ui/button";
import { Field, Input } from "@/components/ui/field";
import { ownPath } from "@/lib/sign-in";
import { cookiePerson, session } from "@/state/session";

import { Frame } from "./frame";
import { WithToken } from "./with-token";
import { signInWaysQuery } from "./queries";

const NO_ORGANIZATION = "You are a member of no organization. Ask for an invitation, and follow its link.";

/** By password, by the provider of the settings, or with an access token; whoever has a session goes on at once. */
export function SignIn() {
  const router = useRouter();
  const parameters = useSearchParams();
  const next = ownPath(parameters.get("next"));
  const [isWithToken, setWithToken] = useState(false);
  const goOn = () => router.replace(next);
  const ways = useQuery(signInWaysQuery());
  const [problem, setProblem] = useState<string | null>(parameters.get("error"));

  useEffect(() => {
    if (session.current() !== null) {
      router.replace(next);
      return;
    }
    let isHere = true;
    void cookiePerson().then((person) => {
      if (!isHere || person === null) return;
      if (session.beginAs(person)) router.replace(next);
      else setProblem(NO_ORGANIZATION);
    });
    return () => {
      isHere = false;
    };
  }, [router, next]);

  return (
    <Frame title="Sign in to Analytiq">
      {problem && <Banner tone="failed">{problem}</Banner>}
      {parameters.get("ended") && !problem && <Banner tone="warning">Your session has ended. Sign in to continue where you were.</Banner>}
      {isWithToken ? (
        <WithToken onDone={goOn} />
      ) : (
        <WithPassword sendsMail={ways.data?.sends_mail ?? false} onDone={goOn} onNobody={() => setProblem(NO_ORGANIZATION)} />
      )}
      {ways.data?.oidc_name && !isWithToken && (
        <a className={buttonClass()} href={`/v0/auth/oidc/sign-in?next=${encodeURIComponent(next)}`}>
          Sign in with {ways.data.oidc_name}
        </a>
      )}
      <Button variant="quiet" className="self-start" onClick={() => setWithToken(!isWithToken)}>
        {isWithToken ? "Sign in with a password" : "Use an access token"}
      </Button>
    </Frame>
  );
}

function WithPassword({ sendsMail, onDone, onNobody }: { sendsMail: boolean; onDone: () => void; onNobody: () => void }) {
  const client = useQueryClient();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [isForgotten, setForgotten] = useState(false);
  const signIn = useMutation({
    mutationFn: () => answered(api.POST("/v0/auth/sign-in", { body: { email: email.trim(), password } })),
    onSuccess: (person) => {
      client.clear();
      if (session.beginAs(person)) onDone();
      else onNobody();
    },
  });
  const reset = useMutation({
    mutationFn: () => answered(api.POST("/v0/auth/password-reset/request", { body: { email: email.trim() } })),
  });
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        signIn.mutate();
      }}
    >
      {signIn.error && <Banner tone="failed">{signIn.error.message}</Banner>}
      <Field label="E-mail address">
        <Input type="email" required autoComplete="username" value={email} onChange={(event) => setEmail(event.target.value)} />
      </Field>
      <Field label="Password">
        <Input
          type="password"
          required
          autoComplete="current-password"
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
      </Field>
      <Button type="submit" variant="primary" disabled={signIn.isPending}>
        {signIn.isPending ? "Signing in…" : "Sign in"}
      </Button>
      <Button variant="quiet" className="self-start" onClick={() => setForgotten(true)}>
        Forgotten the password?
      </Button>
      {isForgotten &&
        (sendsMail ? (
          <div className="flex flex-col gap-2" role="status">
            {reset.isSuccess ? (
              <p className="text-text-2">If somebody signs in with this address, a link is on its way to it.</p>
            ) : (
              <>
                <p className="text-text-2">A link to a new password is sent to the address above.</p>
                <Button className="self-start" disabled={email.trim() === "" || reset.isPending} onClick={() => reset.mutate()}>
                  Send the link
                </Button>
              </>
            )}
            {reset.error && <Banner tone="failed">{reset.error.message}</Banner>}
          </div>
        ) : (
          <p className="text-text-2" role="status">
            Ask whoever runs this server for a link: <code className="font-mono text-xs">analytiq user reset</code> makes one.
          </p>
        ))}
    </form>
  );
}
