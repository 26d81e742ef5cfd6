/** A prompt as its form holds it and as the API takes it. Fields have the API's names, numbers and JSON are as typed. */

import type * as z from "zod/mini";

import type { Schemas } from "@/api/client";

import { isObject, type JsonObject } from "./answer-schema";
import type { PROMPT_SCHEMA } from "./prompt-schema";
import type { Prompt, PromptVersion } from "./queries";

export type Draft = z.infer<typeof PROMPT_SCHEMA>;

export const EMPTY_DRAFT: Draft = {
  name: "",
  text: "",
  model: null,
  answer_schema: "",
  schema_problem: "",
  tag_ids: [],
  runs_on_existing: false,
  kb_id: null,
  metadata_filter: "",
  temperature: "",
  max_tokens: "",
  max_iterations: "5",
  token_budget: "",
  spu_budget: "",
};

const written = (value: number | null) => (value === null ? "" : String(value));

export function draftOf(version: PromptVersion, name: string): Draft {
  return {
    name,
    text: version.text,
    model: version.model,
    answer_schema: version.answer_schema === null ? "" : JSON.stringify(version.answer_schema),
    schema_problem: "",
    tag_ids: version.tag_ids,
    runs_on_existing: false,
    kb_id: version.kb_id,
    metadata_filter: version.metadata_filter === null ? "" : JSON.stringify(version.metadata_filter, null, 2),
    temperature: written(version.temperature),
    max_tokens: written(version.max_tokens),
    max_iterations: String(version.max_iterations),
    token_budget: written(version.token_budget),
    spu_budget: written(version.spu_budget),
  };
}

export function isSameDraft(one: Draft, other: Draft): boolean {
  // By name: a form may hold the fields in another order. Whether it also runs on documents is no part of a prompt.
  const comparable = ({ runs_on_existing: _, ...draft }: Draft): Omit<Draft, "runs_on_existing"> => ({
    ...draft,
    tag_ids: [...draft.tag_ids].sort(),
  });
  const [left, right] = [comparable(one), comparable(other)];
  return (Object.keys(left) as (keyof typeof left)[]).every((field) => JSON.stringify(left[field]) === JSON.stringify(right[field]));
}

/** Why the filter cannot be sent; null where it can. */
export function filterProblem(filter: string): string | null {
  if (filter.trim() === "") return null;
  try {
    return isObject(JSON.parse(filter)) ? null : 'A filter is a JSON object, such as {"document_name": {"$eq": "prices.xlsx"}}.';
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : "it cannot be read"}`;
  }
}

export function schemaOf(draft: Pick<Draft, "answer_schema">): JsonObject | null {
  return draft.answer_schema === "" ? null : (JSON.parse(draft.answer_schema) as JsonObject);
}

const number = (text: string) => (text.trim() === "" ? null : Number(text));

/** As the API takes it; the filter is known to be JSON. */
export function bodyOf(draft: Draft): Schemas["PromptCreate"] {
  const { kb_id: kbId, metadata_filter: filter } = draft;
  return {
    name: draft.name.trim(),
    text: draft.text,
    model: draft.model,
    answer_schema: schemaOf(draft),
    tag_ids: draft.tag_ids,
    kb_id: kbId,
    metadata_filter: kbId === null || filter.trim() === "" ? null : (JSON.parse(filter) as JsonObject),
    temperature: number(draft.temperature),
    max_tokens: number(draft.max_tokens),
    max_iterations: Number(draft.max_iterations),
    token_budget: number(draft.token_budget),
    spu_budget: number(draft.spu_budget),
  } as Schemas["PromptCreate"];
}

/** A version as the body of a change that brings it back; the name is the prompt's, and stays. */
export function restoringBody(version: PromptVersion): Omit<Schemas["PromptUpdate"], "runs_on_existing"> {
  const { name: _, runs_on_existing: __, ...body } = bodyOf(draftOf(version, ""));
  return { ...body, metadata_filter: version.metadata_filter };
}

export interface Setting {
  label: string;
  before: string;
  after: string;
}

type Names = (id: string) => string;

function settingsOf(version: PromptVersion, tagName: Names, kbName: Names): Map<string, string> {
  const optional = (value: number | null, none: string) => (value === null ? none : value.toLocaleString("en-GB"));
  const tags = version.tag_ids.map(tagName).sort().join(", ");
  return new Map([
    ["Model", version.model ?? "the organization's default"],
    ["Tags", tags === "" ? "none" : tags],
    ["Knowledge base", version.kb_id === null ? "none" : kbName(version.kb_id)],
    ["Search filter", version.metadata_filter === null ? "none" : JSON.stringify(version.metadata_filter)],
    ["Temperature", optional(version.temperature, "the model's default")],
    ["Tokens per answer", optional(version.max_tokens, "the model's limit")],
    ["Rounds", String(version.max_iterations)],
    ["Token budget per run", optional(version.token_budget, "none")],
    ["SPU budget per run", optional(version.spu_budget, "none")],
  ]);
}

/** The settings in which two versions differ, without text and schema. */
export function changedSettings(before: PromptVersion, after: PromptVersion, tagName: Names, kbName: Names): Setting[] {
  const old = settingsOf(before, tagName, kbName);
  const now = settingsOf(after, tagName, kbName);
  return [...now].flatMap(([label, value]) => {
    const was = old.get(label) ?? "";
    return was === value ? [] : [{ label, before: was, after: value }];
  });
}

export function schemaText(version: Pick<Prompt, "answer_schema">): string {
  return version.answer_schema === null ? "" : JSON.stringify(version.answer_schema, null, 2);
}
