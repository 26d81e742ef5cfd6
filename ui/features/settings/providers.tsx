"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import dynamic from "next/dynamic";
import { parseAsString, useQueryState } from "nuqs";
import { useState } from "react";

import { answered, api, organizationPath, type Schemas } from "@/api/client";
import { modelKeys, providerKeys } from "@/api/keys";
import { providersQuery } from "@/api/queries";
import { ConfirmDialog } from "@/components/ui/dialog";
import { EmptyState, ErrorState, SkeletonBlock, tellFailure } from "@/components/feedback";
import { State } from "@/components/state";
import { Time } from "@/components/time";
import { Button } from "@/components/ui/button";
import { formatMilliseconds } from "@/lib/format";
import { useMay, usePermissions } from "@/state/permissions";

import { ProviderModels } from "./provider-models";
import { SettingsHead } from "./settings-tabs";

const KeyDialog = dynamic(() => import("./key-dialog").then((module) => module.KeyDialog), { ssr: false });

type Provider = Schemas["LlmProviderResponse"];

export function Providers() {
  const { data, error, refetch } = useQuery(providersQuery());
  // Pages that need a key lead to its form.
  const [asked] = useQueryState("add", parseAsString);
  const [edited, setEdited] = useState<string | null>(asked === null ? null : "");
  const add = useMay("put_llm_provider") && (
    <Button variant="primary" onClick={() => setEdited("")}>
      <Plus aria-hidden size={14} /> Add key
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
          <EmptyState title="No provider keys yet" action={add}>
            The local English model needs no key. A key gives access to the embedding and chat models of its provider.
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
    onError: (error) => tellFailure(`${name} was not tested`, error),
  });
  const forget = useMutation({
    mutationFn: () => answered(api.DELETE("/v0/orgs/{organization_id}/llm-providers/{litellm_provider}", { params: { path } })),
    onSuccess: () =>
      Promise.all([client.invalidateQueries({ queryKey: providerKeys.all }), client.invalidateQueries({ queryKey: modelKeys.all })]),
    onError: (error) => tellFailure("The key was not deleted", error),
  });
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line px-4 py-3">
      <div className="min-w-[180px] flex-1">
        <div className="font-semibold">{name}</div>
        <div className="text-text-2">
          {provider.source === "organization" ? `Key ends in ${provider.key_hint ?? "…"}` : "The platform’s key"}
          {provider.api_base && `, at ${provider.api_base}`}, changed <Time at={provider.updated_at} />
        </div>
        {!provider.is_readable && <State tone="failed">Enter the key again: the server’s secret key has changed.</State>}
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
        <Button onClick={onReplace}>{provider.source === "organization" ? "Replace key" : "Use your own key"}</Button>
      )}
      {provider.source === "organization" && may("delete_llm_provider") && (
        <Button className="text-failed" onClick={() => setForgetting(true)}>
          Forget
        </Button>
      )}
      <ConfirmDialog
        open={isForgetting}
        onOpenChange={setForgetting}
        title={`Delete the key for ${name}?`}
        action="Delete key"
        onConfirm={() => forget.mutate()}
      >
        Knowledge bases that use its models can no longer be indexed or searched, unless the platform has a key.
      </ConfirmDialog>
    </li>
  );
}
