"use client";

import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import dynamic from "next/dynamic";
import { parseAsString, useQueryState } from "nuqs";
import { useState } from "react";

import { EmptyState, ErrorState, SkeletonBlock } from "@/components/feedback";
import { OnlyWhoMay } from "@/components/may";
import { Button } from "@/components/ui/button";
import { SettingsHead } from "@/features/settings/settings-tabs";
import { usePermissions } from "@/state/permissions";

import { Deliveries } from "./deliveries";
import { webhooksQuery } from "./queries";
import { WebhookRow } from "./webhook-row";

const WebhookDialog = dynamic(() => import("./webhook-dialog").then((module) => module.WebhookDialog), { ssr: false });

export function Webhooks() {
  const { isKnown, may } = usePermissions();
  if (isKnown && may("list_webhooks")) return <WebhookList />;
  return (
    <>
      <SettingsHead />
      <OnlyWhoMay to="list_webhooks" what="view and add webhooks">
        {null}
      </OnlyWhoMay>
    </>
  );
}

function WebhookList() {
  const { data, error, refetch } = useQuery(webhooksQuery());
  const [shownId, setShownId] = useQueryState("id", parseAsString.withOptions({ history: "push" }));
  const [isAdding, setAdding] = useState(false);
  const shown = data?.webhooks.find((webhook) => webhook.webhook_id === shownId);
  const add = (
    <Button variant="primary" onClick={() => setAdding(true)}>
      <Plus aria-hidden size={14} /> Add endpoint
    </Button>
  );
  return (
    <>
      <SettingsHead>{add}</SettingsHead>
      <div className="min-h-0 flex-1 overflow-auto">
        {error && !data ? (
          <ErrorState error={error} retry={() => void refetch()} />
        ) : !data ? (
          <SkeletonBlock lines={4} />
        ) : shownId !== null ? (
          <Deliveries key={shownId} webhookId={shownId} webhook={shown} onBack={() => void setShownId(null)} />
        ) : data.webhooks.length === 0 ? (
          <EmptyState title="No endpoints yet" action={add}>
            An endpoint is an address of yours that is called when a document is searchable or has failed, a run has ended, or a quota is
            nearly used. Each request is signed.
          </EmptyState>
        ) : (
          <ul className="max-w-[960px]">
            {data.webhooks.map((webhook) => (
              <WebhookRow key={webhook.webhook_id} webhook={webhook} onShow={() => void setShownId(webhook.webhook_id)} />
            ))}
          </ul>
        )}
      </div>
      {isAdding && <WebhookDialog onClose={() => setAdding(false)} />}
    </>
  );
}
