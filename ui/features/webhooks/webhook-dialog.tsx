"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { toast } from "sonner";
import * as z from "zod/mini";

import { answered, api, idempotencyKey, organizationPath } from "@/api/client";
import { SecretOnce } from "@/components/secret-once";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { Form, FormFailure, showFailure, TextField, useSchemaForm } from "@/components/ui/form";

import { EVENT_TYPES, type EventType, type Webhook, webhookKeys } from "./queries";

const SCHEMA = z.object({
  url: z.string().check(z.refine((text) => /^https?:\/\/\S+$/.test(text.trim()), "Enter an address that begins with https://.")),
  description: z.string().check(z.maxLength(500)),
});

/** Adds an endpoint and shows its secret once; or changes one. */
export function WebhookDialog({ webhook, onClose }: { webhook?: Webhook; onClose: () => void }) {
  const client = useQueryClient();
  const form = useSchemaForm(SCHEMA, { url: webhook?.url ?? "", description: webhook?.description ?? "" });
  const [isAll, setAll] = useState(!webhook || webhook.event_types.length === 0);
  const [chosen, setChosen] = useState<readonly EventType[]>(webhook?.event_types ?? []);
  const isNoneChosen = !isAll && chosen.length === 0;
  const save = useMutation({
    mutationFn: async ({ url, description }: z.infer<typeof SCHEMA>) => {
      const body = { url: url.trim(), description: description.trim(), event_types: isAll ? [] : [...chosen] };
      if (!webhook) {
        const made = await answered(
          api.POST("/v0/orgs/{organization_id}/webhooks", {
            params: { path: organizationPath() },
            body: { ...body, is_enabled: true },
            headers: idempotencyKey(),
          }),
        );
        return made.secret;
      }
      await answered(
        api.PUT("/v0/orgs/{organization_id}/webhooks/{webhook_id}", {
          params: { path: { ...organizationPath(), webhook_id: webhook.webhook_id } },
          body,
        }),
      );
      return null;
    },
    onSuccess: async (secret) => {
      await client.invalidateQueries({ queryKey: webhookKeys.all });
      if (secret !== null) return;
      toast("Endpoint saved");
      onClose();
    },
    onError: (error) => showFailure(form, error),
  });
  if (save.data) {
    return (
      <SecretOnce
        title="Endpoint added"
        description="Copy the secret now, and verify requests by it. It cannot be shown again."
        label="Secret"
        secret={save.data}
        onClose={onClose}
      />
    );
  }
  return (
    <Dialog
      open
      onOpenChange={(isOpen) => !isOpen && onClose()}
      title={webhook ? "Edit endpoint" : "Add endpoint"}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form="webhook-form" variant="primary" disabled={save.isPending || isNoneChosen}>
            {save.isPending ? "Saving…" : webhook ? "Save endpoint" : "Add endpoint"}
          </Button>
        </>
      }
    >
      <Form form={form} id="webhook-form" className="flex flex-col gap-3" onSubmit={(values) => save.mutate(values)}>
        <FormFailure control={form.control} />
        <TextField
          control={form.control}
          name="url"
          label="Address"
          hint="https, on the public Internet"
          type="url"
          placeholder="https://"
          required
          autoFocus
        />
        <TextField control={form.control} name="description" label="Description" />
        <fieldset className="flex flex-col gap-1.5">
          <legend className="mb-1 font-medium">Events</legend>
          <label className="flex items-center gap-2">
            <input type="checkbox" checked={isAll} onChange={(event) => setAll(event.target.checked)} />
            All events
          </label>
          {!isAll && (
            <div className="grid gap-1.5 pl-6 md:grid-cols-2">
              {EVENT_TYPES.map(({ type, label }) => (
                <label key={type} className="flex items-center gap-2" title={type}>
                  <input
                    type="checkbox"
                    checked={chosen.includes(type)}
                    onChange={(event) =>
                      setChosen((before) => (event.target.checked ? [...before, type] : before.filter((each) => each !== type)))
                    }
                  />
                  {label}
                </label>
              ))}
            </div>
          )}
          {isNoneChosen && <p className="text-text-2">Choose at least one event.</p>}
        </fieldset>
      </Form>
    </Dialog>
  );
}
