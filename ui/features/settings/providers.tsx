"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { parseAsString, useQueryState } from "nuqs";
import { useState } from "react";
import { toast } from "sonner";

import { answered, api, organizationPath, type Schemas } from "@/api/client";
import { modelKeys, providerKeys } from "@/api/keys";
import { providersQuery } from "@/api/queries";
import { ConfirmDialog, Dialog } from "@/components/ui/dialog";
import { EmptyState, ErrorState, SkeletonBlock, tellFailure } from "@/components/feedback";
import { Field, formError, Input } from "@/components/ui/field";
import { Banner, State } from "@/components/state";
import { Time } from "@/components/time";
import { Button } from "@/components/ui/button";
import { formatMilliseconds } from "@/lib/format";
import { useMay, usePermissions } from "@/state/permissions";

import { ProviderModels } from "./provider-models";
import { SettingsHead } from "./settings-tabs";

type Provider = Schemas["LlmProviderResponse"];
const KNOWN = ["openai", "cohere", "azure", "mistral", "gemini", "voyage", "jina_ai", "together_ai", "nvidia_nim"];

export function Providers() {
  const { data, error, refetch } = useQuery(providersQuery());
  // Pages that need a key lead to its form.
  const [asked] = useQueryState("add", parseAsString);
  const [edited, setEdited] = useState<string | null>(asked === null ? null : "");
  const add = useMay("put_llm_provider") && (
    <Button variant="primary" onClick={() => setEdited("")}>
      <Plus aria-hidden size={14} /> Add a key
    </Button>
  );
  return (
    <>
      <SettingsHead>{add}</SettingsHead>
      <div className="min-h-0 flex-1 overflow-auto">
        {error ? (
          <ErrorState error={error} retry={() => void refetch()} />
        ) : !data ? (
          <SkeletonBlock lines={4} />
        ) : data.llm_providers.length === 0 ? (
          <EmptyState title="No provider is set up" action={add}>
            The local English model needs none. With a key you may use any embedding or chat model of its provider.
          </EmptyState>
        ) : (
          <ul className="max-w-[860px]">
            {data.llm_providers.map((provider) => (
              <ProviderRow key={provider.litellm_provider} provider={provider} onReplace={() => setEdited(provider.litellm_provider)} />
            ))}
          </ul>
        )}
      </div>
      {edited !== null && add && <KeyDialog name={edited} onClose={() => setEdited(null)} />}
    </>
  );
}

function ProviderRow({ provider, onReplace }: { provider: Provider; onReplace: () => void }) {
  const client = useQueryClient();
  const { may } = usePermissions();
  const [isForgetting, setForgetting] = useState(false);
  const name = provider.litellm_provider;
  const path = { ...organizationPath(), litellm_provider: name };
  const test = useMutation({
    mutationFn: () =>
      answered(api.POST("/v0/orgs/{organization_id}/llm-providers/{litellm_provider}/test", { params: { path }, body: {} })),
    onError: (error) => tellFailure(`${name} was not tried`, error),
  });
  const forget = useMutation({
    mutationFn: () => answered(api.DELETE("/v0/orgs/{organization_id}/llm-providers/{litellm_provider}", { params: { path } })),
    onSuccess: () =>
      Promise.all([client.invalidateQueries({ queryKey: providerKeys.all }), client.invalidateQueries({ queryKey: modelKeys.all })]),
    onError: (error) => tellFailure("The key is kept", error),
  });
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line px-4 py-3">
      <div className="min-w-[180px] flex-1">
        <div className="font-semibold">{name}</div>
        <div className="text-text-2">
          {provider.source === "organization" ? `Key ends in ${provider.key_hint ?? "…"}` : "The platform’s key"}
          {provider.api_base && `, at ${provider.api_base}`}, changed <Time at={provider.updated_at} />
        </div>
        {!provider.is_readable && <State tone="failed">The key has to be stored again: the server’s secret key has changed.</State>}
        {test.data && (
          <State tone={test.data.is_working ? "ready" : "failed"} title={test.data.detail}>
            {test.data.is_working
              ? `${test.data.model} answers in ${formatMilliseconds(test.data.milliseconds)}, ${test.data.dimensions ?? "?"} dimensions`
              : test.data.detail}
          </State>
        )}
        {test.data?.is_working && <ProviderModels name={name} />}
      </div>
      {may("test_llm_provider") && (
        <Button disabled={test.isPending} onClick={() => test.mutate()}>
          {test.isPending ? "Testing…" : "Test"}
        </Button>
      )}
      {may("put_llm_provider") && (
        <Button onClick={onReplace}>{provider.source === "organization" ? "Replace the key" : "Use a key of our own"}</Button>
      )}
      {provider.source === "organization" && may("delete_llm_provider") && (
        <Button className="text-failed" onClick={() => setForgetting(true)}>
          Forget
        </Button>
      )}
      <ConfirmDialog
        open={isForgetting}
        onOpenChange={setForgetting}
        title={`Forget the key of ${name}?`}
        action="Forget the key"
        onConfirm={() => forget.mutate()}
      >
        Knowledge bases with its models are not indexed and searched any more, unless the platform has a key.
      </ConfirmDialog>
    </li>
  );
}

function KeyDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const client = useQueryClient();
  const [provider, setProvider] = useState(name);
  const [key, setKey] = useState("");
  const [address, setAddress] = useState("");
  const put = useMutation({
    mutationFn: () =>
      answered(
        api.PUT("/v0/orgs/{organization_id}/llm-providers/{litellm_provider}", {
          params: { path: { ...organizationPath(), litellm_provider: provider.trim() } },
          body: { api_key: key, ...(address.trim() && { api_base: address.trim() }) },
        }),
      ),
    onSuccess: async (stored) => {
      toast(`The key of ${stored.litellm_provider} is stored; test it`);
      await Promise.all([client.invalidateQueries({ queryKey: providerKeys.all }), client.invalidateQueries({ queryKey: modelKeys.all })]);
      onClose();
    },
  });
  const general = formError(put.error, ["api_key", "api_base", "litellm_provider"]);
  return (
    <Dialog
      open
      onOpenChange={(isOpen) => !isOpen && onClose()}
      title={name ? `Key of ${name}` : "Add a provider’s key"}
      description="Stored encrypted; it is never shown again."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form="key-form" variant="primary" disabled={put.isPending || key === "" || provider.trim() === ""}>
            Store the key
          </Button>
        </>
      }
    >
      <form
        id="key-form"
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          put.mutate();
        }}
      >
        {general && <Banner tone="failed">{general}</Banner>}
        {!name && (
          <Field label="Provider" hint="As LiteLLM names it" error={put.error} field="litellm_provider">
            <Input list="providers" required autoFocus value={provider} onChange={(event) => setProvider(event.target.value)} />
            <datalist id="providers">
              {KNOWN.map((known) => (
                <option key={known} value={known} />
              ))}
            </datalist>
          </Field>
        )}
        <Field label="Key" error={put.error} field="api_key">
          <Input
            className="font-mono"
            type="password"
            autoComplete="off"
            required
            value={key}
            onChange={(event) => setKey(event.target.value)}
          />
        </Field>
        <Field
          label="Address"
          hint="Only for a server of your own that speaks OpenAI’s protocol, or Azure’s resource"
          error={put.error}
          field="api_base"
        >
          <Input type="url" placeholder="https://" value={address} onChange={(event) => setAddress(event.target.value)} />
        </Field>
      </form>
    </Dialog>
  );
}
