/** Conversion between a source and its form. Fields have the API's names; numbers, lists and JSON are typed texts. */

import * as z from "zod/mini";

import { ApiError } from "@/api/errors";

import { isPushOnly, type Source, type SourceBody, type SourceKind } from "./queries";
import { fieldsOf, linesOf, readFields, type SchemaField, secretFieldsOf, textsOf } from "./schema-fields";

const PAIRS = z.array(z.object({ key: z.string(), value: z.string() }));
const VALUES = z.object({
  name: z.string(),
  settings: z.record(z.string(), z.string()),
  /** False keeps the stored credentials; true replaces all of them. */
  sends_credentials: z.boolean(),
  credentials: z.record(z.string(), z.string()),
  tag_ids: z.array(z.string()),
  include: z.string(),
  exclude: z.string(),
  max_item_megabytes: z.string(),
  metadata: PAIRS,
  metadata_mapping: PAIRS,
  schedule: z.string(),
  schedule_minutes: z.string(),
  when_vanished: z.enum(["delete", "keep", "tag"]),
  vanished_tag_id: z.nullable(z.string()),
});

export type SourceValues = z.infer<typeof VALUES>;
export type Pair = SourceValues["metadata"][number];

export interface KindFields {
  settings: readonly SchemaField[];
  credentials: readonly SchemaField[];
  /** Where the service of a sign-in returns the browser; null if the kind has none. */
  signInRedirect: string | null;
  /** Programs push the items: there are no runs to schedule. */
  isPushed: boolean;
}

export function kindFields(kind: SourceKind): KindFields {
  return {
    settings: fieldsOf(kind.settings_schema),
    credentials: secretFieldsOf(kind.credentials_schema),
    signInRedirect: kind.sign_in_redirect_url,
    isPushed: isPushOnly(kind),
  };
}

/** Offered intervals in seconds; "" is on request only. */
export const INTERVALS = ["", "3600", "21600", "86400", "604800"] as const;
const OTHER = "other";
const MEGABYTE = 1_000_000;

export function valuesOf(kind: KindFields, source?: Source): SourceValues {
  const seconds = source?.interval_seconds ?? null;
  const isOffered = (INTERVALS as readonly string[]).includes(seconds === null ? "" : String(seconds));
  const mostBytes = source?.filters.max_item_bytes ?? null;
  return {
    name: source?.name ?? "",
    settings: textsOf(kind.settings, source?.settings ?? {}),
    sends_credentials: kind.credentials.length > 0 && !source?.has_credentials,
    credentials: textsOf(kind.credentials, {}),
    tag_ids: [...(source?.tag_ids ?? [])].sort(),
    include: (source?.filters.include ?? []).join("\n"),
    exclude: (source?.filters.exclude ?? []).join("\n"),
    max_item_megabytes: mostBytes === null ? "" : String(mostBytes / MEGABYTE),
    metadata: Object.entries(source?.metadata ?? {}).map(([key, value]) => ({ key, value: metadataText(value) })),
    metadata_mapping: Object.entries(source?.metadata_mapping ?? {}).map(([key, value]) => ({ key, value })),
    schedule: isOffered ? (seconds === null ? "" : String(seconds)) : OTHER,
    schedule_minutes: isOffered || seconds === null ? "" : String(seconds / 60),
    when_vanished: source?.when_vanished ?? "delete",
    vanished_tag_id: source?.vanished_tag_id ?? null,
  };
}

/** Return the text that `readMetadata` converts back. */
function metadataText(value: unknown): string {
  return typeof value === "string" && typeof readMetadata(value) === "string" ? value : JSON.stringify(value);
}

/** Convert a text to a number, boolean or other JSON value; anything else, and JSON in quotes, is text. */
export function readMetadata(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

interface Problem {
  path: string[];
  message: string;
}

function pairProblems(name: "metadata" | "metadata_mapping", pairs: readonly Pair[]): Problem[] {
  const keys = pairs.map(({ key }) => key.trim());
  const isBlank = pairs.some(({ key, value }) => key.trim() === "" || (name === "metadata_mapping" && value.trim() === ""));
  const messages = [
    ...(isBlank ? ["Fill in each row, or remove it."] : []),
    ...(new Set(keys).size < keys.length ? ["Use each name once."] : []),
  ];
  return messages.slice(0, 1).map((message) => ({ path: [name], message }));
}

function problemsOf(kind: KindFields, values: SourceValues): Problem[] {
  const schemaProblems = (part: "settings" | "credentials") =>
    readFields(kind[part], values[part]).problems.map(({ name, problem }) => ({ path: [part, name], message: problem }));
  const problems: Problem[] = [];
  if (values.name.trim() === "") problems.push({ path: ["name"], message: "Enter a name." });
  problems.push(...schemaProblems("settings"));
  if (values.sends_credentials) problems.push(...schemaProblems("credentials"));
  const minutes = Number(values.schedule_minutes);
  if (values.schedule === OTHER && !(minutes >= 1 && minutes <= 525_600)) {
    problems.push({ path: ["schedule_minutes"], message: "Enter 1 to 525,600 minutes." });
  }
  const megabytes = values.max_item_megabytes.trim();
  if (megabytes !== "" && !(Number(megabytes) >= 1 / MEGABYTE)) {
    problems.push({ path: ["max_item_megabytes"], message: "Enter a number above 0." });
  }
  if (values.when_vanished === "tag" && values.vanished_tag_id === null) {
    problems.push({ path: ["vanished_tag_id"], message: "Choose the tag." });
  }
  return [...problems, ...pairProblems("metadata", values.metadata), ...pairProblems("metadata_mapping", values.metadata_mapping)];
}

/** Return the schema of a source's form. */
export function sourceSchema(kind: KindFields) {
  return VALUES.check((context) => {
    for (const { path, message } of problemsOf(kind, context.value)) {
      context.issues.push({ code: "custom", input: context.value, path, message });
    }
  });
}

function intervalOf({ schedule, schedule_minutes: minutes }: SourceValues): number | null {
  if (schedule === OTHER) return Math.round(Number(minutes) * 60);
  return schedule === "" ? null : Number(schedule);
}

/** Return the API's body without the kind, from values without problems. */
export function bodyOf(kind: KindFields, values: SourceValues) {
  const megabytes = values.max_item_megabytes.trim();
  return {
    name: values.name.trim(),
    settings: readFields(kind.settings, values.settings).values as SourceBody["settings"],
    ...(values.sends_credentials && {
      credentials: readFields(kind.credentials, values.credentials).values as SourceBody["credentials"],
    }),
    tag_ids: values.tag_ids,
    filters: {
      include: linesOf(values.include),
      exclude: linesOf(values.exclude),
      max_item_bytes: megabytes === "" ? null : Math.round(Number(megabytes) * MEGABYTE),
    },
    metadata: Object.fromEntries(values.metadata.map(({ key, value }) => [key.trim(), readMetadata(value)])) as SourceBody["metadata"],
    metadata_mapping: Object.fromEntries(values.metadata_mapping.map(({ key, value }) => [key.trim(), value.trim()])),
    when_vanished: values.when_vanished,
    vanished_tag_id: values.when_vanished === "tag" ? values.vanished_tag_id : null,
    interval_seconds: intervalOf(values),
  };
}

/** Map the API's refused fields to the form's: a list is one field here, and filters have no prefix. */
export function renamedFields(error: Error): Record<string, Extract<keyof SourceValues, string>> {
  const fields = error instanceof ApiError ? error.fields.map(({ field }) => field) : [];
  return Object.fromEntries(
    fields.flatMap((field) => {
      const [part = "", inner = ""] = field.split(/[.[]/);
      const place = part === "filters" ? (inner === "max_item_bytes" ? "max_item_megabytes" : inner) : part;
      if (place === "interval_seconds") return [[field, "schedule"]];
      if (place === "settings" || place === "credentials") return inner === "" ? [] : [[field, `${place}.${inner}`]];
      return place in VALUES.shape ? [[field, place]] : [];
    }),
  ) as Record<string, Extract<keyof SourceValues, string>>;
}
