"use client";

import { useQuery } from "@tanstack/react-query";
import { useRouter, useSearchParams } from "next/navigation";
import { useEffect, useState } from "react";

import { Banner } from "@/components/state";
import { Button, buttonClass } from "@/components/ui/button";
import { ownPath } from "@/lib/sign-in";
import { cookiePerson, session } from "@/state/session";

import { Frame } from "./frame";
import { signInWaysQuery } from "./queries";
import { WithPassword } from "./with-password";
import { WithToken } from "./with-token";

const NO_ORGANIZATION = "You are not a member of any organization. Ask for an invitation and open its link.";

/** The sign-in page: by password, single sign-on or access token. A signed-in person is forwarded at once. */
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
        <WithPassword sendsMail={ways.data?.sends_mail ?? false} onDone={goOn} onNoOrganization={() => setProblem(NO_ORGANIZATION)} />
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
