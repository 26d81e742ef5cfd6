"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useWatch } from "react-hook-form";
import * as z from "zod/mini";

import { answered, api } from "@/api/client";
import { Banner } from "@/components/state";
import { Button } from "@/components/ui/button";
import { Form, FormFailure, showFailure, TextField, useSchemaForm } from "@/components/ui/form";
import { emailAddress, required } from "@/lib/checks";
import { session } from "@/state/session";

const SCHEMA = z.object({ email: emailAddress(), password: required("Enter your password.") });

/** Signs a person in by address and password. */
export function WithPassword({
  sendsMail,
  onDone,
  onNoOrganization,
}: {
  sendsMail: boolean;
  onDone: () => void;
  onNoOrganization: () => void;
}) {
  const client = useQueryClient();
  const form = useSchemaForm(SCHEMA, { email: "", password: "" });
  const email = useWatch({ control: form.control, name: "email" }).trim();
  const [isForgotten, setForgotten] = useState(false);
  const signIn = useMutation({
    mutationFn: ({ email, password }: z.infer<typeof SCHEMA>) =>
      answered(api.POST("/v0/auth/sign-in", { body: { email: email.trim(), password } })),
    onSuccess: (person) => {
      client.clear();
      if (session.beginAs(person)) onDone();
      else onNoOrganization();
    },
    onError: (error) => showFailure(form, error),
  });
  return (
    <Form form={form} className="flex flex-col gap-4" onSubmit={(values) => signIn.mutate(values)}>
      <FormFailure control={form.control} />
      <TextField control={form.control} name="email" label="E-mail address" type="email" required autoComplete="username" />
      <TextField control={form.control} name="password" label="Password" type="password" required autoComplete="current-password" />
      <Button type="submit" variant="primary" disabled={signIn.isPending}>
        {signIn.isPending ? "Signing in…" : "Sign in"}
      </Button>
      <Button variant="quiet" className="self-start" onClick={() => setForgotten(true)}>
        Forgot your password?
      </Button>
      {isForgotten && (sendsMail ? <SendLink email={email} /> : <AskOperator />)}
    </Form>
  );
}

function SendLink({ email }: { email: string }) {
  const reset = useMutation({
    mutationFn: () => answered(api.POST("/v0/auth/password-reset/request", { body: { email } })),
  });
  return (
    <div className="flex flex-col gap-2" role="status">
      {reset.isSuccess ? (
        <p className="text-text-2">If an account has this address, a link is on its way to it.</p>
      ) : (
        <>
          <p className="text-text-2">We send a link for a new password to the address above.</p>
          <Button className="self-start" disabled={email === "" || reset.isPending} onClick={() => reset.mutate()}>
            Send link
          </Button>
        </>
      )}
      {reset.error && <Banner tone="failed">{reset.error.message}</Banner>}
    </div>
  );
}

function AskOperator() {
  return (
    <p className="text-text-2" role="status">
      Ask the operator of this server for a link to choose a new password.
    </p>
  );
}
