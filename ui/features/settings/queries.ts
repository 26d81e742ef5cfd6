import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { answered, api, organizationPath } from "@/api/client";
import { memberKeys, modelKeys, organizationKeys } from "@/api/keys";

import { type AuditFilterValues, auditQuery } from "./audit-values";

export const tokenKeys = {
  all: ["tokens"] as const,
  page: (skip: number) => ["tokens", skip] as const,
  names: ["tokens", "names"] as const,
};
export const invitationKeys = { all: ["invitations"] as const };
const auditKeys = { page: (skip: number, filter: AuditFilterValues) => ["audit-log", skip, filter] as const };

export const ROWS_A_PAGE = 50;
/** Of members and tokens whose names are chosen from. */
const MOST_NAMES = 100;
export const SHOWN_MODELS = 100;

export function membersQuery(skip: number) {
  return queryOptions({
    queryKey: memberKeys.page(skip),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/members", {
          params: { path: organizationPath(), query: { skip, limit: ROWS_A_PAGE } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
}

export function memberNamesQuery() {
  return queryOptions({
    queryKey: memberKeys.names,
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/members", { params: { path: organizationPath(), query: { limit: MOST_NAMES } }, signal }),
      ),
  });
}

export function invitationsQuery() {
  return queryOptions({
    queryKey: invitationKeys.all,
    queryFn: ({ signal }) =>
      answered(api.GET("/v0/orgs/{organization_id}/invitations", { params: { path: organizationPath(), query: { limit: 100 } }, signal })),
    retry: false,
  });
}

export function tokensQuery(skip: number) {
  return queryOptions({
    queryKey: tokenKeys.page(skip),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/access-tokens", {
          params: { path: organizationPath(), query: { skip, limit: ROWS_A_PAGE } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
}

export function tokenNamesQuery() {
  return queryOptions({
    queryKey: tokenKeys.names,
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/access-tokens", { params: { path: organizationPath(), query: { limit: MOST_NAMES } }, signal }),
      ),
  });
}

export function auditLogQuery(skip: number, filter: AuditFilterValues) {
  return queryOptions({
    queryKey: auditKeys.page(skip, filter),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/audit-log", {
          params: { path: organizationPath(), query: { skip, limit: ROWS_A_PAGE, ...auditQuery(filter) } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
}

export function retentionQuery() {
  return queryOptions({
    queryKey: organizationKeys.retention,
    queryFn: ({ signal }) => answered(api.GET("/v0/orgs/{organization_id}/retention", { params: { path: organizationPath() }, signal })),
  });
}

export function settingsQuery() {
  return queryOptions({
    queryKey: organizationKeys.settings,
    queryFn: ({ signal }) => answered(api.GET("/v0/orgs/{organization_id}/settings", { params: { path: organizationPath() }, signal })),
  });
}

export function storageQuery() {
  return queryOptions({
    queryKey: organizationKeys.storage,
    queryFn: ({ signal }) => answered(api.GET("/v0/orgs/{organization_id}/storage", { params: { path: organizationPath() }, signal })),
  });
}

export function providerModelsQuery(provider: string) {
  return queryOptions({
    queryKey: modelKeys.ofProvider(provider),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/models", {
          params: { path: organizationPath(), query: { litellm_provider: provider, limit: SHOWN_MODELS } },
          signal,
        }),
      ),
  });
}
