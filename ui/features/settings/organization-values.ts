/** The form of an organization's settings: its values, their limits, and the calls that a change needs. */

import * as z from "zod/mini";

import type { Schemas } from "@/api/client";
import { required, typedNumber } from "@/lib/checks";
import { formatCount } from "@/lib/format";

const LONGEST_RETENTION_DAYS = 36_500;

/** The kinds of flawed text that can be left out, in the order of the API. */
export const SKIPPABLE_FLAWS = ["noise", "misdecoded", "machine_text", "visual_order"] as const;
export type SkippableFlaw = (typeof SKIPPABLE_FLAWS)[number];

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

/** Numbers as typed; empty: the server's limit. */
function perMinute(most: number | null) {
  const problem = most === null ? "Enter a whole number of 1 or more." : `Enter a whole number from 1 to ${formatCount(most)}.`;
  return typedNumber(problem, { least: 1, most: most ?? Infinity, isOptional: true });
}

const MODEL_SCHEMA = z.object({
  model: required("Enter the model's name."),
  requests_per_minute: perMinute(null),
  tokens_per_minute: perMinute(null),
});

export function schemaFor(server: Schemas["RateLimitsResponse"]) {
  return z.object({
    name: required("Enter a name."),
    document_days: typedNumber(`Enter a whole number from 1 to ${formatCount(LONGEST_RETENTION_DAYS)}.`, {
      least: 1,
      most: LONGEST_RETENTION_DAYS,
      isOptional: true,
    }),
    cache_scope: z.enum(["global", "organization"]),
    /** null: the server's. */
    ocr_languages: z.nullable(z.array(z.string())),
    vision: z.object({ model: z.string(), describe_figures: z.boolean(), read_pages: z.boolean() }),
    skipped_flaws: z.array(z.enum(SKIPPABLE_FLAWS)),
    rate_limits: z.object({
      requests_per_minute: perMinute(server.requests_per_minute),
      tokens_per_minute: perMinute(server.tokens_per_minute),
      documents_per_minute: perMinute(server.documents_per_minute),
      models: z.array(MODEL_SCHEMA),
    }),
  });
}

export type OrganizationValues = z.infer<ReturnType<typeof schemaFor>>;

const text = (value: number | null) => (value === null ? "" : String(value));
const figure = (value: string) => (value.trim() === "" ? null : Number(value));

export function valuesOf({ organization, retention, settings }: Stored): OrganizationValues {
  const limits = settings.rate_limits;
  return {
    name: organization.name,
    document_days: text(retention.document_days),
    cache_scope: organization.cache_scope === "organization" ? "organization" : "global",
    ocr_languages: settings.ocr_languages,
    vision: { ...settings.vision, model: settings.vision.model ?? "" },
    skipped_flaws: SKIPPABLE_FLAWS.filter((kind) => settings.skipped_flaws.includes(kind)),
    rate_limits: {
      requests_per_minute: text(limits.requests_per_minute),
      tokens_per_minute: text(limits.tokens_per_minute),
      documents_per_minute: text(limits.documents_per_minute),
      models: limits.models.map((item) => ({
        model: item.model,
        requests_per_minute: text(item.requests_per_minute),
        tokens_per_minute: text(item.tokens_per_minute),
      })),
    },
  };
}

function rateLimitsOf({ rate_limits: limits }: OrganizationValues) {
  return {
    requests_per_minute: figure(limits.requests_per_minute),
    tokens_per_minute: figure(limits.tokens_per_minute),
    documents_per_minute: figure(limits.documents_per_minute),
    models: limits.models.map((item) => ({
      model: item.model.trim(),
      requests_per_minute: figure(item.requests_per_minute),
      tokens_per_minute: figure(item.tokens_per_minute),
    })),
  };
}

function visionOf({ vision }: OrganizationValues) {
  return { ...vision, model: vision.model.trim() || null };
}

function isSame(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

/** What differs from what is stored; nothing where the form was changed back. */
export function changesOf(values: OrganizationValues, stored: Stored): Changes {
  const before = valuesOf(stored);
  const organization = {
    ...(values.name.trim() !== before.name && { name: values.name.trim() }),
    ...(values.cache_scope !== before.cache_scope && { cache_scope: values.cache_scope }),
  };
  const settings = {
    ...(!isSame(values.ocr_languages, before.ocr_languages) && { ocr_languages: values.ocr_languages }),
    ...(!isSame(visionOf(values), visionOf(before)) && { vision: visionOf(values) }),
    ...(!isSame(values.skipped_flaws, before.skipped_flaws) && { skipped_flaws: values.skipped_flaws }),
    ...(!isSame(rateLimitsOf(values), rateLimitsOf(before)) && { rate_limits: rateLimitsOf(values) }),
  };
  return {
    ...(Object.keys(organization).length > 0 && { organization }),
    ...(values.document_days.trim() !== before.document_days && { retention: { document_days: figure(values.document_days) } }),
    ...(Object.keys(settings).length > 0 && { settings }),
  };
}

/** Documents that are kept for a shorter time than until now may go at once. */
export function deletesSooner(changes: Changes, stored: Stored): boolean {
  const days = changes.retention?.document_days ?? null;
  const before = stored.retention.document_days;
  return days !== null && (before === null || days < before);
}
