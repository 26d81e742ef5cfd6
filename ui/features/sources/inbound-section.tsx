"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { CopyIcon, KeyRound, Plug } from "lucide-react";
import { useId, useState } from "react";
import { toast } from "sonner";

import { sourceKeys } from "@/api/keys";
import { copyText, ErrorState, SkeletonBlock, tellFailure } from "@/components/feedback";
import { Banner } from "@/components/state";
import { Time } from "@/components/time";
import { Button } from "@/components/ui/button";
import { ConfirmDialog } from "@/components/ui/dialog";
import { Input } from "@/components/ui/field";
import { usePermissions } from "@/state/permissions";

import { InboundSecretDialog } from "./inbound-secret-dialog";
import { inboundHint, wholeAddress } from "./inbound-words";
import { closeInbound, type InboundAddress, inboundQuery, type Source } from "./queries";

/** The inbound address of a source, to open, rotate and close by those who may. */
export function InboundSection({ source }: { source: Source }) {
  const { may, whoMay } = usePermissions();
  const mayLook = may("get_source_inbound");
  const isOpen = source.has_inbound_address;
  const { data, error, refetch } = useQuery({ ...inboundQuery(source.source_id), enabled: mayLook && isOpen });
  const address = isOpen ? data : null;
  const heading = useId();
  const hint = inboundHint(source.kind);
  return (
    <section aria-labelledby={heading} className="max-w-[640px] border-t border-line p-4">
      <h2 id={heading} className="mb-2 text-lg font-semibold">
        Inbound address
      </h2>
      <p className="mb-3 text-text-2">
        {hint.service === null
          ? "What is pushed to this address becomes a document at once, with the tags and patterns of the source."
          : `${hint.service} tells changes to this address by webhooks, so that changed items come in at once.`}
      </p>
      {!mayLook ? (
        <Banner tone="working">{whoMay("get_source_inbound")} can open and see the address.</Banner>
      ) : error && address === undefined ? (
        <ErrorState error={error} retry={() => void refetch()} />
      ) : address === undefined ? (
        <SkeletonBlock lines={4} />
      ) : (
        <Address source={source} address={address} />
      )}
    </section>
  );
}

function Address({ source, address }: { source: Source; address: InboundAddress | null }) {
  const { may, whoMay } = usePermissions();
  const [isMaking, setMaking] = useState(false);
  const mayOpen = may("create_source_inbound");
  const hint = inboundHint(source.kind);
  return (
    <div className="flex flex-col items-start gap-4">
      {address !== null && <AddressFields address={address} />}
      <p className="text-text-2">{hint.steps}</p>
      <div className="flex flex-wrap gap-2">
        {mayOpen ? (
          <Button onClick={() => setMaking(true)}>
            {address === null ? <Plug aria-hidden size={14} /> : <KeyRound aria-hidden size={14} />}
            {address === null ? "Open inbound address" : hint.hasOwnSecret ? "Replace the secret" : "Make a new secret"}
          </Button>
        ) : (
          address === null && <Banner tone="working">{whoMay("create_source_inbound")} can open the address.</Banner>
        )}
        {address !== null && may("delete_source_inbound") && <CloseButton source={source} />}
      </div>
      {isMaking && <InboundSecretDialog source={source} hasAddress={address !== null} onClose={() => setMaking(false)} />}
    </div>
  );
}

function AddressFields({ address }: { address: InboundAddress }) {
  return (
    <div className="flex w-full flex-col gap-3">
      <CopyField label="Address" value={wholeAddress(address.url, window.location.origin)} />
      {address.learned_secret !== null && (
        <CopyField label="Verification token" value={address.learned_secret} hint="Paste it in Notion to confirm the webhook." />
      )}
      <dl className="grid grid-cols-[160px_minmax(0,1fr)] gap-x-4 gap-y-1.5">
        <dt className="text-text-2">Last push</dt>
        <dd>{address.last_push_at === null ? "Nothing yet" : <Time at={address.last_push_at} />}</dd>
        <dt className="text-text-2">Secrets</dt>
        <dd>{address.secret_count}</dd>
      </dl>
    </div>
  );
}

function CopyField({ label, value, hint }: { label: string; value: string; hint?: string }) {
  const id = useId();
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="font-medium">
        {label}
      </label>
      <div className="flex gap-2">
        <Input id={id} className="min-w-0 font-mono text-xs" readOnly value={value} onFocus={(event) => event.target.select()} />
        <Button aria-label={`Copy: ${label}`} onClick={() => void copyText(value)}>
          <CopyIcon aria-hidden size={14} /> Copy
        </Button>
      </div>
      {hint && <span className="text-text-3">{hint}</span>}
    </div>
  );
}

function CloseButton({ source }: { source: Source }) {
  const client = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const close = useMutation({
    mutationFn: () => closeInbound(source.source_id),
    onSuccess: async () => {
      toast("Inbound address closed");
      client.setQueryData(sourceKeys.inbound(source.source_id), null);
      await client.invalidateQueries({ queryKey: sourceKeys.one(source.source_id) });
    },
    onError: (error) => tellFailure("The address was not closed", error),
  });
  return (
    <>
      <Button className="text-failed" disabled={close.isPending} onClick={() => setAsking(true)}>
        Close address
      </Button>
      <ConfirmDialog
        open={isAsking}
        onOpenChange={setAsking}
        title="Close the inbound address?"
        action="Close address"
        onConfirm={() => close.mutate()}
      >
        Pushes to it are refused from now on, and its secrets are deleted. Documents stay. Opened again, the source has another address.
      </ConfirmDialog>
    </>
  );
}
