"use client";

import { useQuery } from "@tanstack/react-query";

import { quotaQuery } from "@/api/queries";
import { ErrorState, SkeletonBlock } from "@/components/feedback";
import { UsageMeter } from "@/components/usage-meter";
import { formatBytes, formatCount } from "@/lib/format";

import { storageQuery } from "./queries";

/** What an operator lets the organization use, and what of it is used. */
export function OrganizationQuotas() {
  const storage = useQuery(storageQuery());
  const quota = useQuery(quotaQuery());
  const error = storage.error ?? quota.error;
  return (
    <section aria-labelledby="quotas" className="flex max-w-[640px] flex-col gap-3">
      <h2 id="quotas" className="text-lg font-semibold">
        Quotas
      </h2>
      <p className="text-text-2">Set by the operator of this server. Files count with their uploaded size.</p>
      {error ? (
        <ErrorState error={error} retry={() => void Promise.all([storage.refetch(), quota.refetch()])} />
      ) : !storage.data || !quota.data ? (
        <SkeletonBlock lines={3} />
      ) : (
        <>
          <UsageMeter label="Storage" used={storage.data.used_bytes} most={storage.data.max_bytes} format={formatBytes} />
          <UsageMeter label="Documents" used={storage.data.used_documents} most={storage.data.max_documents} format={formatCount} />
          <UsageMeter label="SPUs" used={quota.data.used_spus} most={quota.data.quota} format={formatCount} />
        </>
      )}
    </section>
  );
}
