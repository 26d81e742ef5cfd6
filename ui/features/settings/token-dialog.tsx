"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useWatch } from "react-hook-form";
import * as z from "zod/mini";

import { answered, api, idempotencyKey, organizationPath } from "@/api/client";
import { SecretOnce } from "@/components/secret-once";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { Form, FormFailure, SelectField, showFailure, TextField, useSchemaForm } from "@/components/ui/form";
import { required } from "@/lib/checks";
import { usePermissions } from "@/state/permissions";

import { tokenKeys } from "./queries";

const SCOPES = [
  { scope: "read", may: "Can see and search documents" },
  { scope: "write", may: "Can also change documents, tags, knowledge bases and prompts" },
  { scope: "admin", may: "Can do everything; only owners create such tokens" },
] as const;
/** Days that a token lasts; 0 is for good. */
const LIFETIMES = [
  { days: "30", label: "In 30 days" },
  { days: "90", label: "In 90 days" },
  { days: "365", label: "In 1 year" },
  { days: "0", label: "Never" },
];

const SCHEMA = z.object({ name: required("Enter a name."), scope: z.enum(["read", "write", "admin"]), days: z.string() });

/** Creates an access token and shows it once. */
export function TokenDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const { permission } = usePermissions();
  const form = useSchemaForm(SCHEMA, { name: "", scope: "write", days: "90" });
  const scope = useWatch({ control: form.control, name: "scope" });
  const create = useMutation({
    mutationFn: ({ name, scope, days }: z.infer<typeof SCHEMA>) =>
      answered(
        api.POST("/v0/orgs/{organization_id}/access-tokens", {
          params: { path: organizationPath() },
          body: {
            name: name.trim(),
            scope,
            ...(days !== "0" && { expires_at: new Date(Date.now() + Number(days) * 86_400_000).toISOString() }),
          },
          headers: idempotencyKey(),
        }),
      ),
    onSuccess: () => client.invalidateQueries({ queryKey: tokenKeys.all }),
    onError: (error) => showFailure(form, error),
  });
  if (create.data) {
    return (
      <SecretOnce
        title={`Token ${create.data.name}`}
        description="Copy the token now. It cannot be shown again."
        label="Access token"
        secret={create.data.token}
        onClose={onClose}
      />
    );
  }
  return (
    <Dialog
      open
      onOpenChange={(isOpen) => !isOpen && onClose()}
      title="New access token"
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form="token-form" variant="primary" disabled={create.isPending}>
            Create token
          </Button>
        </>
      }
    >
      <Form form={form} id="token-form" className="flex flex-col gap-3" onSubmit={(values) => create.mutate(values)}>
        <FormFailure control={form.control} />
        <TextField
          control={form.control}
          name="name"
          label="Name"
          hint="The program or person that uses the token"
          autoFocus
          required
          maxLength={100}
        />
        <SelectField control={form.control} name="scope" label="Scope" hint={SCOPES.find((item) => item.scope === scope)?.may}>
          {SCOPES.filter((item) => item.scope !== "admin" || permission === "owner").map((item) => (
            <option key={item.scope}>{item.scope}</option>
          ))}
        </SelectField>
        <SelectField control={form.control} name="days" label="Expires">
          {LIFETIMES.map(({ days, label }) => (
            <option key={days} value={days}>
              {label}
            </option>
          ))}
        </SelectField>
      </Form>
    </Dialog>
  );
}
