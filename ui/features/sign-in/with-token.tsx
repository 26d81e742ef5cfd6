"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import * as z from "zod/mini";

import { ApiError } from "@/api/errors";
import { organizationQuery } from "@/api/queries";
import { Button } from "@/components/ui/button";
import { Form, FormFailure, TextField, useSchemaForm } from "@/components/ui/form";
import { required } from "@/lib/checks";
import { readPasted } from "@/lib/sign-in";
import { session, type TokenSession } from "@/state/session";

const SCHEMA = z.object({ organizationId: required("Enter the organization's id."), token: required("Enter the access token.") });

/** Signs in with an access token. Pasting connection.json into either field fills both. */
export function WithToken({ onDone }: { onDone: () => void }) {
  const client = useQueryClient();
  const form = useSchemaForm(SCHEMA, { organizationId: "", token: "" });
  const signIn = useMutation({
    mutationFn: async (wanted: TokenSession) => {
      client.clear();
      session.begin(wanted);
      try {
        return await client.fetchQuery({ ...organizationQuery(), retry: false });
      } catch (error) {
        session.abandon();
        throw error;
      }
    },
    onSuccess: onDone,
    onError: (error) => form.setError("root.server", { message: explain(error) }),
  });
  const paste = (event: React.ClipboardEvent) => {
    const pasted = readPasted(event.clipboardData.getData("text"));
    if (pasted.organizationId === undefined) return;
    event.preventDefault();
    form.setValue("organizationId", pasted.organizationId);
    form.setValue("token", pasted.token ?? "");
  };
  return (
    <>
      <Form
        form={form}
        className="flex flex-col gap-4"
        onSubmit={({ organizationId, token }) => signIn.mutate({ organizationId: organizationId.trim(), token: token.trim() })}
      >
        <FormFailure control={form.control} />
        <TextField
          control={form.control}
          name="organizationId"
          label="Organization id"
          className="font-mono"
          required
          spellCheck={false}
          autoComplete="off"
          onPaste={paste}
        />
        <TextField
          control={form.control}
          name="token"
          label="Access token"
          className="font-mono"
          type="password"
          required
          autoComplete="off"
          onPaste={paste}
        />
        <Button type="submit" variant="primary" disabled={signIn.isPending}>
          {signIn.isPending ? "Signing in…" : "Sign in"}
        </Button>
      </Form>
      <p className="text-text-2">
        If you run this server, paste the whole file <code className="font-mono text-xs">connection.json</code> of its data directory into
        either field. Otherwise ask an owner of the organization for a token. Closing the tab signs you out.
      </p>
    </>
  );
}

function explain(error: Error): string {
  if (error instanceof ApiError && (error.status === 404 || error.status === 401)) {
    return "This token does not open this organization. Check both, or ask an owner for a new token.";
  }
  return error.message;
}
