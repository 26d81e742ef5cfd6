"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { toast } from "sonner";
import * as z from "zod/mini";

import { answered, api, organizationPath } from "@/api/client";
import { modelKeys, providerKeys } from "@/api/keys";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { Form, FormFailure, showFailure, TextField, useSchemaForm } from "@/components/ui/form";
import { required } from "@/lib/checks";

const KNOWN = ["openai", "cohere", "azure", "mistral", "gemini", "voyage", "jina_ai", "together_ai", "nvidia_nim"];

const SCHEMA = z.object({
  litellm_provider: required("Enter the provider's name."),
  api_key: required("Enter the key."),
  api_base: z
    .string()
    .check(z.refine((text) => /^(https?:\/\/\S+)?$/.test(text.trim()), "Enter an address that begins with https:// or http://.")),
});

/** Stores a provider's key; an empty `name` lets the user choose the provider. */
export function KeyDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const client = useQueryClient();
  const form = useSchemaForm(SCHEMA, { litellm_provider: name, api_key: "", api_base: "" });
  const put = useMutation({
    mutationFn: ({ litellm_provider: provider, api_key: key, api_base: address }: z.infer<typeof SCHEMA>) =>
      answered(
        api.PUT("/v0/orgs/{organization_id}/llm-providers/{litellm_provider}", {
          params: { path: { ...organizationPath(), litellm_provider: provider.trim() } },
          body: { api_key: key, ...(address.trim() && { api_base: address.trim() }) },
        }),
      ),
    onSuccess: async (stored) => {
      toast(`Key for ${stored.litellm_provider} saved. Test it now.`);
      await Promise.all([client.invalidateQueries({ queryKey: providerKeys.all }), client.invalidateQueries({ queryKey: modelKeys.all })]);
      onClose();
    },
    onError: (error) => showFailure(form, error),
  });
  return (
    <Dialog
      open
      onOpenChange={(isOpen) => !isOpen && onClose()}
      title={name ? `Key for ${name}` : "Add provider key"}
      description="The key is stored encrypted and never shown again."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form="key-form" variant="primary" disabled={put.isPending}>
            Save key
          </Button>
        </>
      }
    >
      <Form form={form} id="key-form" className="flex flex-col gap-3" onSubmit={(values) => put.mutate(values)}>
        <FormFailure control={form.control} />
        {!name && (
          <>
            <TextField
              control={form.control}
              name="litellm_provider"
              label="Provider"
              hint="Its name in LiteLLM, such as openai"
              list="providers"
              required
              autoFocus
            />
            <datalist id="providers">
              {KNOWN.map((known) => (
                <option key={known} value={known} />
              ))}
            </datalist>
          </>
        )}
        <TextField control={form.control} name="api_key" label="Key" className="font-mono" type="password" autoComplete="off" required />
        <TextField
          control={form.control}
          name="api_base"
          label="Address"
          hint="Only for Azure, or for your own server with an OpenAI-compatible API"
          type="url"
          placeholder="https://"
        />
      </Form>
    </Dialog>
  );
}
