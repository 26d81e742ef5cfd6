"use client";

import { Banner } from "@/components/state";
import { Button } from "@/components/ui/button";
import { useTakenParameter } from "@/state/use-taken-parameter";

import { signInProblem } from "./sign-in-words";

/** Tells once why a sign-in at a service failed, where the service's redirect ends. */
export function FailedSignIn() {
  const [code, forget] = useTakenParameter("sign_in_error");
  if (code === null) return null;
  return (
    <Notice tone="failed" onDismiss={forget}>
      {signInProblem(code)} {code !== "not_found" && "Open the source and sign in again."}
    </Notice>
  );
}

/** Tells once that a sign-in at a service succeeded. */
export function DoneSignIn() {
  const [signedIn, forget] = useTakenParameter("signed_in");
  if (signedIn !== "1") return null;
  return (
    <Notice tone="working" onDismiss={forget}>
      You are signed in. The source can read what you may read at the service.
    </Notice>
  );
}

function Notice({ tone, onDismiss, children }: { tone: "failed" | "working"; onDismiss: () => void; children: React.ReactNode }) {
  return (
    <div className="px-4 pt-4">
      <Banner tone={tone}>
        <div className="flex flex-wrap items-start gap-x-3 gap-y-2">
          <p className="min-w-0 flex-1 basis-[240px]">{children}</p>
          <Button size="small" onClick={onDismiss}>
            Dismiss
          </Button>
        </div>
      </Banner>
    </div>
  );
}
