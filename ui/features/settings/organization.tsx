"use client";

import { useQuery } from "@tanstack/react-query";

import { answered, api, organizationPath } from "@/api/client";
import { organizationQuery } from "@/api/queries";
import { ErrorState, SkeletonBlock } from "@/components/feedback";

import { OrganizationForm } from "./organization-form";
import { SettingsHead } from "./settings-tabs";

export function OrganizationSettings() {
  const organization = useQuery(organizationQuery());
  const retention = useQuery({
    queryKey: ["retention"],
    queryFn: ({ signal }) => answered(api.GET("/v0/orgs/{organization_id}/retention", { params: { path: organizationPath() }, signal })),
  });
  const settings = useQuery({
    queryKey: ["organization-settings"],
    queryFn: ({ signal }) => answered(api.GET("/v0/orgs/{organization_id}/settings", { params: { path: organizationPath() }, signal })),
  });
  const error = organization.error ?? retention.error ?? settings.error;
  return (
    <>
      <SettingsHead />
      {error ? (
        <ErrorState error={error} retry={() => void Promise.all([organization.refetch(), retention.refetch(), settings.refetch()])} />
      ) : !organization.data || !retention.data || !settings.data ? (
        <SkeletonBlock lines={8} />
      ) : (
        <OrganizationForm stored={{ organization: organization.data, retention: retention.data, settings: settings.data }} />
      )}
    </>
  );
}
