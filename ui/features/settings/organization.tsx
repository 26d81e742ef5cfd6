"use client";

import { useQuery } from "@tanstack/react-query";

import { answered, api, organizationPath } from "@/api/client";
import { organizationQuery } from "@/api/queries";
import { ErrorState, SkeletonBlock } from "@/components/feedback";
import { ScrollArea } from "@/components/scroll-area";
import { Time } from "@/components/time";
import { plural } from "@/lib/format";

import { SettingsHead } from "./settings-tabs";

export function OrganizationSettings() {
  const organization = useQuery(organizationQuery());
  const retention = useQuery({
    queryKey: ["retention"],
    queryFn: ({ signal }) =>
      answered(api.GET("/v0/orgs/{organization_id}/retention", { params: { path: organizationPath() }, signal })),
  });
  const error = organization.error ?? retention.error;
  return (
    <>
      <SettingsHead />
      <ScrollArea label="Organization" className="p-4">
        {error ? (
          <ErrorState error={error} retry={() => void Promise.all([organization.refetch(), retention.refetch()])} />
        ) : !organization.data ? (
          <SkeletonBlock lines={4} />
        ) : (
          <dl className="grid max-w-[640px] grid-cols-[160px_minmax(0,1fr)] gap-x-4 gap-y-2 max-md:grid-cols-1">
            <dt className="text-text-2">Name</dt>
            <dd className="font-medium break-words">{organization.data.name}</dd>
            <dt className="text-text-2">Id</dt>
            <dd className="font-mono text-xs leading-5 break-all">{organization.data.organization_id}</dd>
            <dt className="text-text-2">Since</dt>
            <dd>
              <Time at={organization.data.created_at} />
            </dd>
            <dt className="text-text-2">Embedding cache</dt>
            <dd>
              {organization.data.cache_scope === "global"
                ? "Shared with the other organizations of this server"
                : "Of this organization alone"}
            </dd>
            <dt className="text-text-2">Documents are kept</dt>
            <dd>
              {retention.data === undefined
                ? ""
                : retention.data.document_days === null
                  ? "Until somebody deletes them"
                  : `${plural(retention.data.document_days, "day")}, then they are erased`}
            </dd>
          </dl>
        )}
      </ScrollArea>
    </>
  );
}

