"use client";

import { useMutation } from "@tanstack/react-query";
import * as z from "zod/mini";

import { answered, api } from "@/api/client";
import { Banner } from "@/components/state";
import { Button, buttonClass } from "@/components/ui/button";
import { Form, FormFailure, showFailure, TextField, useSchemaForm } from "@/components/ui/form";
import { newPassword } from "@/lib/checks";
import { session } from "@/state/session";

import { Frame } from "./frame";
import { useLinkSecret } from "./link-secret";

const SCHEMA = z.object({ password: newPassword() });

/** The page behind a reset link: chooses a new password. */
export function NewPassword() {
  const token = useLinkSecret();
  const form = useSchemaForm(SCHEMA, { password: "" });
  const reset = useMutation({
    mutationFn: ({ password }: z.infer<typeof SCHEMA>) =>
      answered(api.POST("/v0/auth/password-reset", { body: { token: token ?? "", password } })),
    onSuccess: () => session.end(),
    onError: (error) => showFailure(form, error),
  });
  if (reset.isSuccess) {
    return (
      <Frame title="New password">
        <p className="text-text-2" role="status">
          Your password is changed. You are signed out in all browsers.
        </p>
        <a className={buttonClass({ variant: "primary" }, "self-start")} href="/sign-in/">
          Sign in
        </a>
      </Frame>
    );
  }
  return (
    <Frame title="New password">
      {token === "" && <Banner tone="failed">The link is incomplete. Open it exactly as you received it.</Banner>}
      <Form form={form} className="flex flex-col gap-4" onSubmit={(values) => reset.mutate(values)}>
        <FormFailure control={form.control} />
        {/* What is typed before the page answers would be lost. */}
        <TextField
          control={form.control}
          name="password"
          label="New password"
          hint="At least 10 characters"
          type="password"
          disabled={token === null}
          required
          autoComplete="new-password"
        />
        <Button type="submit" variant="primary" disabled={reset.isPending || !token}>
          {reset.isPending ? "Changing…" : "Change password"}
        </Button>
      </Form>
    </Frame>
  );
}
