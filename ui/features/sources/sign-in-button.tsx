"use client";

import { useMutation } from "@tanstack/react-query";
import { LogIn } from "lucide-react";

import { tellFailure } from "@/components/feedback";
import { May } from "@/components/may";
import { Button } from "@/components/ui/button";

import { beginSignIn, type Source } from "./queries";

/** Leads to the source's service, which returns the browser to the source. Nothing for sources without a sign-in. */
export function SignInButton({ source, isSmall = false }: { source: Source; isSmall?: boolean }) {
  const signIn = useMutation({
    mutationFn: beginSignIn,
    onSuccess: (url) => window.location.assign(url),
    onError: (error) => tellFailure("The sign-in was not begun", error),
  });
  if (!source.can_sign_in) return null;
  return (
    <May to="begin_source_sign_in">
      <Button
        {...(isSmall && { size: "small" as const })}
        disabled={signIn.isPending}
        title="Let the source read what you may read at the service"
        onClick={() => signIn.mutate(source.source_id)}
      >
        <LogIn aria-hidden size={14} /> <span className={isSmall ? undefined : "max-md:sr-only"}>Sign in</span>
      </Button>
    </May>
  );
}
