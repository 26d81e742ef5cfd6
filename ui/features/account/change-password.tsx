"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { toast } from "sonner";
import * as z from "zod/mini";

import { answered, api } from "@/api/client";
import { Button } from "@/components/ui/button";
import { Form, FormFailure, showFailure, TextField, useSchemaForm } from "@/components/ui/form";
import { newPassword, required } from "@/lib/checks";

import { sessionKeys } from "./queries";

const SCHEMA = z.object({ current_password: required("Enter your current password."), new_password: newPassword() });
const EMPTY = { current_password: "", new_password: "" };

/** Replaces the password and signs other browsers out. */
export function ChangePassword({ email }: { email: string }) {
  const client = useQueryClient();
  const form = useSchemaForm(SCHEMA, EMPTY);
  const change = useMutation({
    mutationFn: (body: z.infer<typeof SCHEMA>) => answered(api.POST("/v0/auth/password", { body })),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: sessionKeys.all });
      toast("Password changed. Other browsers are signed out.");
      form.reset(EMPTY);
    },
    // A weak password is refused by the name that it has in every form.
    onError: (error) => showFailure(form, error, { password: "new_password" }),
  });
  return (
    <section aria-labelledby="password" className="border-t border-line pt-5">
      <Form form={form} className="flex max-w-[360px] flex-col gap-3" onSubmit={(values) => change.mutate(values)}>
        <h2 id="password" className="text-lg font-semibold">
          Password
        </h2>
        <FormFailure control={form.control} />
        <input type="email" className="hidden" autoComplete="username" value={email} readOnly aria-hidden tabIndex={-1} />
        <TextField
          control={form.control}
          name="current_password"
          label="Current password"
          type="password"
          required
          autoComplete="current-password"
        />
        <TextField
          control={form.control}
          name="new_password"
          label="New password"
          hint="At least 10 characters"
          type="password"
          required
          autoComplete="new-password"
        />
        <Button type="submit" variant="primary" className="self-start" disabled={change.isPending}>
          {change.isPending ? "Changing…" : "Change password"}
        </Button>
      </Form>
    </section>
  );
}
