"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { toast } from "sonner";

import { answered, api } from "@/api/client";
import { ApiError } from "@/api/errors";
import { Field, formError, Input } from "@/components/ui/field";
import { Banner } from "@/components/state";
import { Button } from "@/components/ui/button";

import { sessionKeys } from "./queries";

/** Replaces the password; other browsers are signed out by it. */
export function ChangePassword({ email }: { email: string }) {
  const client = useQueryClient();
  const [current, setCurrent] = useState("");
  const [wanted, setWanted] = useState("");
  const change = useMutation({
    mutationFn: () => answered(api.POST("/v0/auth/password", { body: { current_password: current, new_password: wanted } })),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: sessionKeys.all });
      toast("Your password is changed; other browsers are signed out");
      setCurrent("");
      setWanted("");
    },
  });
  const general = formError(change.error, ["current_password", "new_password", "password"]);
  // The library names the field as it knows it, whichever form it comes from.
  const error =
    change.error instanceof ApiError && change.error.fields.some((item) => item.field === "password") ? "password" : "new_password";
  return (
    <section aria-labelledby="password" className="border-t border-line pt-5">
      <form
        className="flex max-w-[360px] flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate();
        }}
      >
        <h2 id="password" className="text-lg font-semibold">
          Password
        </h2>
        {general && <Banner tone="failed">{general}</Banner>}
        <input type="email" className="hidden" autoComplete="username" value={email} readOnly aria-hidden tabIndex={-1} />
        <Field label="Current password" error={change.error} field="current_password">
          <Input
            type="password"
            required
            autoComplete="current-password"
            value={current}
            onChange={(event) => setCurrent(event.target.value)}
          />
        </Field>
        <Field label="New password" hint="At least 10 characters" error={change.error} field={error}>
          <Input
            type="password"
            required
            minLength={10}
            autoComplete="new-password"
            value={wanted}
            onChange={(event) => setWanted(event.target.value)}
          />
        </Field>
        <Button type="submit" variant="primary" className="self-start" disabled={change.isPending}>
          {change.isPending ? "Changing…" : "Change the password"}
        </Button>
      </form>
    </section>
  );
}
