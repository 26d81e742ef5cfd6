"use client";

import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { answered, api } from "@/api/client";
import { Field, formError, Input } from "@/components/ui/field";
import { Banner } from "@/components/state";
import { Button, buttonClass } from "@/components/ui/button";
import { session } from "@/state/session";

import { Frame } from "./frame";
import { useLinkSecret } from "./link-secret";

/** Chooses a new password by a link that an operator or a mail brought. */
export function NewPassword() {
  const token = useLinkSecret();
  const [password, setPassword] = useState("");
  const reset = useMutation({
    mutationFn: () => answered(api.POST("/v0/auth/password-reset", { body: { token: token ?? "", password } })),
    onSuccess: () => session.end(),
  });
  if (reset.isSuccess) {
    return (
      <Frame title="New password">
        <p className="text-text-2" role="status">
          Your password is changed, and you are signed out everywhere.
        </p>
        <a className={buttonClass({ variant: "primary" }, "self-start")} href="/sign-in/">
          Sign in
        </a>
      </Frame>
    );
  }
  const general = token === "" ? "The link is not whole: open it as it was sent to you." : formError(reset.error, ["password"]);
  return (
    <Frame title="New password">
      {general && <Banner tone="failed">{general}</Banner>}
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          reset.mutate();
        }}
      >
        <Field label="New password" hint="At least 10 characters" error={reset.error} field="password">
          {/* What is typed before the page answers would be lost. */}
          <Input
            type="password"
            disabled={token === null}
            required
            minLength={10}
            autoComplete="new-password"
            value={password}
            onChange={(event) => setPassword(event.target.value)}
          />
        </Field>
        <Button type="submit" variant="primary" disabled={reset.isPending || !token}>
          {reset.isPending ? "Changing…" : "Change the password"}
        </Button>
      </form>
    </Frame>
  );
}
