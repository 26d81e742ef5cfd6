"use client";

import { useQuery } from "@tanstack/react-query";
import dynamic from "next/dynamic";

import { organizationQuery } from "@/api/queries";
import { ErrorState, SkeletonBlock } from "@/components/feedback";

import { SettingsHead } from "./settings-tabs";
import { retentionQuery, settingsQuery } from "./queries";

const OrganizationForm = dynamic(() => import("./organization-form").then((module) => module.OrganizationForm), {
  ssr: false,
  loading: () => <SkeletonBlock lines={8} />,
});

export function OrganizationSettings() {
  const organization = useQuery(organizationQuery());
  const retention = useQuery(retentionQuery());
  const settings = useQuery(settingsQuery());
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
