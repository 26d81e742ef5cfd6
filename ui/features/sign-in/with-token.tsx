"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { ApiError } from "@/api/errors";
import { organizationQuery } from "@/api/queries";
import { Banner } from "@/components/state";
import { Button } from "@/components/ui/button";
import { Field, Input } from "@/components/ui/field";
import { readPasted } from "@/lib/sign-in";
import { session, type TokenSession } from "@/state/session";

/** Opens the session with an access token; pasting connection.json into either field fills both. */
export function WithToken({ onDone }: { onDone: () => void }) {
  const client = useQueryClient();
  const [organizationId, setOrganizationId] = useState("");
  const [token, setToken] = useState("");
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
  });
  const paste = (event: React.ClipboardEvent) => {
    const pasted = readPasted(event.clipboardData.getData("text"));
    if (pasted.organizationId === undefined) return;
    event.preventDefault();
    setOrganizationId(pasted.organizationId);
    setToken(pasted.token ?? "");
  };
  return (
    <>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          signIn.mutate({ organizationId: organizationId.trim(), token: token.trim() });
        }}
      >
        {signIn.error && <Banner tone="failed">{explain(signIn.error)}</Banner>}
        <Field label="Organization id">
          <Input
            className="font-mono"
            required
            spellCheck={false}
            autoComplete="off"
            value={organizationId}
            onPaste={paste}
            onChange={(event) => setOrganizationId(event.target.value)}
          />
        </Field>
        <Field label="Access token">
          <Input
            className="font-mono"
            type="password"
            required
            autoComplete="off"
            value={token}
            onPaste={paste}
            onChange={(event) => setToken(event.target.value)}
          />
        </Field>
        <Button type="submit" variant="primary" disabled={signIn.isPending}>
          {signIn.isPending ? "Signing in…" : "Sign in"}
        </Button>
      </form>
      <p className="text-text-2">
        Both are in <code className="font-mono text-xs">connection.json</code> in the data directory: paste the whole file into either
        field. <code className="font-mono text-xs">analytiq token create</code> makes a token for somebody else. Closing the tab signs out.
      </p>
    </>
  );
}

function explain(error: Error): string {
  if (error instanceof ApiError && (error.status === 404 || error.status === 401)) {
    return "This token does not open this organization. Check both, or make a new token.";
  }
  return error.message;
}
