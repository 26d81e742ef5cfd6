"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import dynamic from "next/dynamic";
import { useState } from "react";
import { toast } from "sonner";

import { answered, api, organizationPath } from "@/api/client";
import { tellFailure } from "@/components/feedback";
import { State } from "@/components/state";
import { Time } from "@/components/time";
import { Button } from "@/components/ui/button";
import { ConfirmDialog } from "@/components/ui/dialog";
import { formatMilliseconds, plural } from "@/lib/format";

import { EVENT_TYPES, type Webhook, webhookKeys } from "./queries";

const WebhookDialog = dynamic(() => import("./webhook-dialog").then((module) => module.WebhookDialog), { ssr: false });
const RotateDialog = dynamic(() => import("./rotate-dialog").then((module) => module.RotateDialog), { ssr: false });

/** An endpoint with its state, and what can be done with it. */
export function WebhookRow({ webhook, onShow }: { webhook: Webhook; onShow: () => void }) {
  const client = useQueryClient();
  const [open, setOpen] = useState<"edit" | "rotate" | "delete" | null>(null);
  const path = { ...organizationPath(), webhook_id: webhook.webhook_id };
  const test = useMutation({
    mutationFn: () => answered(api.POST("/v0/orgs/{organization_id}/webhooks/{webhook_id}/test", { params: { path } })),
    onSettled: () => client.invalidateQueries({ queryKey: webhookKeys.all }),
    onError: (error) => tellFailure("The test event was not sent", error),
  });
  const enable = useMutation({
    mutationFn: (isEnabled: boolean) =>
      answered(api.PUT("/v0/orgs/{organization_id}/webhooks/{webhook_id}", { params: { path }, body: { is_enabled: isEnabled } })),
    onSettled: () => client.invalidateQueries({ queryKey: webhookKeys.all }),
    onError: (error) => tellFailure("The endpoint was not changed", error),
  });
  const remove = useMutation({
    mutationFn: () => answered(api.DELETE("/v0/orgs/{organization_id}/webhooks/{webhook_id}", { params: { path } })),
    onSuccess: () => toast("Endpoint deleted"),
    onSettled: () => client.invalidateQueries({ queryKey: webhookKeys.all }),
    onError: (error) => tellFailure("The endpoint was not deleted", error),
  });
  const attempt = test.data?.attempts.at(-1);
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line px-4 py-3">
      <div className="min-w-[240px] flex-1">
        <button type="button" className="text-left font-semibold break-all text-link" onClick={onShow}>
          {webhook.url}
        </button>
        {webhook.description && <div className="break-words">{webhook.description}</div>}
        <div className="text-text-2">{eventsOf(webhook)}</div>
        <WebhookState webhook={webhook} />
        {attempt && (
          <div>
            <State tone={attempt.error ? "failed" : "ready"} title={attempt.error ?? undefined}>
              {attempt.error
                ? `Test failed. ${attempt.error}`
                : `Test answered with HTTP ${attempt.status ?? "?"} in ${formatMilliseconds(attempt.milliseconds)}`}
            </State>
          </div>
        )}
      </div>
      <div className="flex flex-wrap gap-1.5">
        <Button onClick={onShow}>Deliveries</Button>
        <Button disabled={test.isPending} onClick={() => test.mutate()}>
          {test.isPending ? "Sending…" : "Send test"}
        </Button>
        <Button onClick={() => setOpen("edit")}>Edit</Button>
        <Button onClick={() => setOpen("rotate")}>Rotate secret</Button>
        <Button disabled={enable.isPending} onClick={() => enable.mutate(!webhook.is_enabled)}>
          {webhook.is_enabled ? "Disable" : "Enable"}
        </Button>
        <Button className="text-failed" onClick={() => setOpen("delete")}>
          Delete
        </Button>
      </div>
      {open === "edit" && <WebhookDialog webhook={webhook} onClose={() => setOpen(null)} />}
      {open === "rotate" && <RotateDialog webhook={webhook} onClose={() => setOpen(null)} />}
      <ConfirmDialog
        open={open === "delete"}
        onOpenChange={() => setOpen(null)}
        title="Delete endpoint?"
        action="Delete endpoint"
        onConfirm={() => remove.mutate()}
      >
        {webhook.url} receives no further events, and its deliveries are deleted. Events that are still waiting are not sent.
      </ConfirmDialog>
    </li>
  );
}

/** The state of an endpoint in words. */
export function WebhookState({ webhook }: { webhook: Webhook }) {
  if (!webhook.is_enabled) {
    return (
      <State tone={webhook.disabled_by === "gone" ? "failed" : "absent"}>
        {webhook.disabled_by === "gone" ? "Disabled: the endpoint answered 410 (gone)" : "Disabled"}
        {webhook.disabled_at && (
          <>
            , <Time at={webhook.disabled_at} />
          </>
        )}
      </State>
    );
  }
  if (webhook.failures > 0) {
    return (
      <State tone="warning">
        {plural(webhook.failures, "failed attempt")} in a row
        {webhook.paused_until && (
          <>
            , next one <Time at={webhook.paused_until} isPlanned />
          </>
        )}
      </State>
    );
  }
  return (
    <State tone="ready">
      Enabled
      {webhook.last_delivered_at && (
        <>
          , last delivery <Time at={webhook.last_delivered_at} />
        </>
      )}
      {webhook.secret_count > 1 && `, ${webhook.secret_count} secrets sign`}
    </State>
  );
}

function eventsOf(webhook: Webhook): string {
  if (webhook.event_types.length === 0) return "All events";
  return EVENT_TYPES.filter(({ type }) => webhook.event_types.includes(type))
    .map(({ label }) => label)
    .join(", ");
}
