/** The form of an organization's settings: what it shows, and which calls a change needs. */

import type { Schemas } from "@/api/client";

export interface ModelDraft {
  model: string;
  requests: string;
  tokens: string;
}

export interface OrganizationDraft {
  name: string;
  cacheScope: Schemas["CacheScope"];
  retentionDays: string;
  /** null: the server's. */
  languages: readonly string[] | null;
  requests: string;
  tokens: string;
  documents: string;
  models: readonly ModelDraft[];
}

export interface Stored {
  organization: Schemas["OrganizationResponse"];
  retention: Schemas["RetentionAnswer"];
  settings: Schemas["OrganizationSettingsResponse"];
}

export interface Changes {
  organization?: Schemas["OrganizationUpdate"];
  retention?: Schemas["RetentionSettings"];
  settings?: Schemas["OrganizationSettingsUpdate"];
}

const text = (value: number | null) => (value === null ? "" : String(value));
const figure = (value: string) => (value.trim() === "" ? null : Number(value));

export function draftOf({ organization, retention, settings }: Stored): OrganizationDraft {
  const limits = settings.rate_limits;
  return {
    name: organization.name,
    cacheScope: organization.cache_scope === "organization" ? "organization" : "global",
    retentionDays: text(retention.document_days),
    languages: settings.ocr_languages,
    requests: text(limits.requests_per_minute),
    tokens: text(limits.tokens_per_minute),
    documents: text(limits.documents_per_minute),
    models: limits.models.map((item) => ({
      model: item.model,
      requests: text(item.requests_per_minute),
      tokens: text(item.tokens_per_minute),
    })),
  };
}

function rateLimitsOf(draft: OrganizationDraft) {
  return {
    requests_per_minute: figure(draft.requests),
    tokens_per_minute: figure(draft.tokens),
    documents_per_minute: figure(draft.documents),
    models: draft.models.map((item) => ({
      model: item.model.trim(),
      requests_per_minute: figure(item.requests),
      tokens_per_minute: figure(item.tokens),
    })),
  };
}

function isSame(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

/** What differs from what is stored; nothing where the form was changed back. */
export function changesOf(draft: OrganizationDraft, stored: Stored): Changes {
  const before = draftOf(stored);
  const organization = {
    ...(draft.name.trim() !== before.name && { name: draft.name.trim() }),
    ...(draft.cacheScope !== before.cacheScope && { cache_scope: draft.cacheScope }),
  };
  const settings = {
    ...(!isSame(draft.languages, before.languages) && { ocr_languages: draft.languages === null ? null : [...draft.languages] }),
    ...(!isSame(rateLimitsOf(draft), rateLimitsOf(before)) && { rate_limits: rateLimitsOf(draft) }),
  };
  return {
    ...(Object.keys(organization).length > 0 && { organization }),
    ...(draft.retentionDays.trim() !== before.retentionDays && { retention: { document_days: figure(draft.retentionDays) } }),
    ...(Object.keys(settings).length > 0 && { settings }),
  };
}

/** Documents that are kept for a shorter time than until now may go at once. */
export function deletesSooner(changes: Changes, stored: Stored): boolean {
  const days = changes.retention?.document_days ?? null;
  const before = stored.retention.document_days;
  return days !== null && (before === null || days < before);
}
