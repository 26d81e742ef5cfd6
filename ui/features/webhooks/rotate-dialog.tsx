"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { answered, api, organizationPath } from "@/api/client";
import { tellFailure } from "@/components/feedback";
import { SecretOnce } from "@/components/secret-once";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { Select } from "@/components/ui/select";

import { type Webhook, webhookKeys } from "./queries";

const OVERLAPS = [
  { seconds: 3600, label: "For 1 hour" },
  { seconds: 86_400, label: "For 1 day" },
  { seconds: 604_800, label: "For 7 days" },
  { seconds: 0, label: "No longer: it has leaked" },
];

/** Replaces the secret of an endpoint and shows the new one once. */
export function RotateDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const client = useQueryClient();
  const [seconds, setSeconds] = useState(86_400);
  const rotate = useMutation({
    mutationFn: () =>
      answered(
        api.POST("/v0/orgs/{organization_id}/webhooks/{webhook_id}/rotate", {
          params: { path: { ...organizationPath(), webhook_id: webhook.webhook_id } },
          body: { overlap_seconds: seconds },
        }),
      ),
    onSuccess: () => client.invalidateQueries({ queryKey: webhookKeys.all }),
    onError: (error) => tellFailure("The secret was not rotated", error),
  });
  if (rotate.data) {
    return (
      <SecretOnce
        title="New secret"
        description="Copy the secret now. It cannot be shown again."
        label="Secret"
        secret={rotate.data.secret}
        onClose={onClose}
      />
    );
  }
  return (
    <Dialog
      open
      onOpenChange={(isOpen) => !isOpen && onClose()}
      title="Rotate secret"
      description="Requests are signed by the new secret, and by the present one for as long as you choose."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" disabled={rotate.isPending} onClick={() => rotate.mutate()}>
            Rotate secret
          </Button>
        </>
      }
    >
      <label className="flex flex-col gap-1">
        <span className="font-medium">The present secret signs too</span>
        <Select value={seconds} onChange={(event) => setSeconds(Number(event.target.value))}>
          {OVERLAPS.map((overlap) => (
            <option key={overlap.seconds} value={overlap.seconds}>
              {overlap.label}
            </option>
          ))}
        </Select>
      </label>
    </Dialog>
  );
}
