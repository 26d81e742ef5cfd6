"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { toast } from "sonner";
import * as z from "zod/mini";

import { sourceKeys } from "@/api/keys";
import { SecretOnce } from "@/components/secret-once";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { Form, FormFailure, SelectField, showFailure, TextField, useSchemaForm } from "@/components/ui/form";
import { required } from "@/lib/checks";

import { inboundHint } from "./inbound-words";
import { openInbound, type Source } from "./queries";

/** Time for which the secrets before stay valid. */
const OVERLAPS = [
  { seconds: "86400", label: "For 1 day" },
  { seconds: "604800", label: "For 7 days" },
  { seconds: "3600", label: "For 1 hour" },
  { seconds: "0", label: "No longer" },
];

/** Opens the inbound address, or gives an open one a further secret; a secret made here is shown once. */
export function InboundSecretDialog({ source, hasAddress, onClose }: { source: Source; hasAddress: boolean; onClose: () => void }) {
  const client = useQueryClient();
  // As the dialog began: the address is open before the secret has been copied.
  const [isOpen] = useState(hasAddress);
  const { service, hasOwnSecret } = inboundHint(source.kind);
  const schema = z.object({ secret: hasOwnSecret ? required("Enter the secret.") : z.string(), overlap: z.string() });
  const form = useSchemaForm(schema, { secret: "", overlap: "86400" });
  const make = useMutation({
    mutationFn: ({ secret, overlap }: z.infer<typeof schema>) =>
      openInbound(source.source_id, { overlap_seconds: Number(overlap), secret: hasOwnSecret ? secret.trim() : null }),
    onSuccess: async ({ secret: _secret, ...address }) => {
      if (hasOwnSecret) {
        toast(isOpen ? "Secret replaced" : "Inbound address opened");
        onClose();
      }
      // First the address, so that nothing that is shown has to wait for it.
      client.setQueryData(sourceKeys.inbound(source.source_id), address);
      await Promise.all(
        [sourceKeys.inbound(source.source_id), sourceKeys.one(source.source_id)].map((queryKey) => client.invalidateQueries({ queryKey })),
      );
    },
    onError: (error) => showFailure(form, error, { overlap_seconds: "overlap" }),
  });
  if (make.data && !hasOwnSecret) {
    return (
      <SecretOnce
        title={isOpen ? "New secret" : "Inbound address opened"}
        description="Copy the secret now. It cannot be shown again."
        label="Secret"
        secret={make.data.secret}
        onClose={onClose}
      />
    );
  }
  const action = !isOpen ? "Open address" : hasOwnSecret ? "Replace secret" : "Make secret";
  return (
    <Dialog
      open
      onOpenChange={(isShown) => !isShown && onClose()}
      title={!isOpen ? "Open the inbound address?" : hasOwnSecret ? "Replace the secret" : "Make a new secret"}
      description={
        isOpen
          ? "The address stays the same."
          : hasOwnSecret
            ? `Requests are accepted if they are signed with the secret of ${service ?? "the service"}.`
            : "Requests to the address need no access token. They are accepted if they are signed with a secret, which is shown next."
      }
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form="inbound-secret" variant="primary" disabled={make.isPending}>
            {action}
          </Button>
        </>
      }
    >
      <Form form={form} id="inbound-secret" className="flex flex-col gap-3" onSubmit={(values) => make.mutate(values)}>
        <FormFailure control={form.control} />
        {hasOwnSecret && (
          <TextField
            control={form.control}
            name="secret"
            type="password"
            autoComplete="off"
            label={`Signing secret of ${service ?? "the service"}`}
            hint={service === "Slack" ? "In your Slack app: Basic Information, App Credentials" : undefined}
          />
        )}
        {isOpen && (
          <SelectField control={form.control} name="overlap" label="Earlier secrets stay valid">
            {OVERLAPS.map(({ seconds, label }) => (
              <option key={seconds} value={seconds}>
                {label}
              </option>
            ))}
          </SelectField>
        )}
      </Form>
    </Dialog>
  );
}
