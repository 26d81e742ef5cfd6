/** What is being written of a prompt, as the form holds it, and as the API takes it. */

import type { Schemas } from "@/api/client";

import { isObject, type JsonObject } from "./answer-schema";
import type { Prompt, PromptVersion } from "./queries";

export interface Draft {
  name: string;
  text: string;
  model: string | null;
  schema: JsonObject | null;
  tagIds: readonly string[];
  kbId: string | null;
  /** Numbers as they are typed; empty: none. */
  temperature: string;
  maxTokens: string;
  maxIterations: string;
  tokenBudget: string;
  spuBudget: string;
  /** JSON as it is typed; empty: none. */
  filter: string;
}

export const EMPTY_DRAFT: Draft = {
  name: "",
  text: "",
  model: null,
  schema: null,
  tagIds: [],
  kbId: null,
  temperature: "",
  maxTokens: "",
  maxIterations: "5",
  tokenBudget: "",
  spuBudget: "",
  filter: "",
};

const written = (value: number | null) => (value === null ? "" : String(value));

export function draftOf(version: PromptVersion, name: string): Draft {
  return {
    name,
    text: version.text,
    model: version.model,
    schema: version.answer_schema as JsonObject | null,
    tagIds: version.tag_ids,
    kbId: version.kb_id,
    temperature: written(version.temperature),
    maxTokens: written(version.max_tokens),
    maxIterations: String(version.max_iterations),
    tokenBudget: written(version.token_budget),
    spuBudget: written(version.spu_budget),
    filter: version.metadata_filter === null ? "" : JSON.stringify(version.metadata_filter, null, 2),
  };
}

export function isSameDraft(one: Draft, other: Draft): boolean {
  const comparable = (draft: Draft) => JSON.stringify({ ...draft, tagIds: [...draft.tagIds].sort() });
  return comparable(one) === comparable(other);
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

const number = (text: string) => (text.trim() === "" ? null : Number(text));

/** As the API takes it; the filter is known to be JSON. */
export function bodyOf(draft: Draft): Schemas["PromptCreate"] {
  const filter = draft.kbId === null || draft.filter.trim() === "" ? null : (JSON.parse(draft.filter) as JsonObject);
  return {
    name: draft.name.trim(),
    text: draft.text,
    model: draft.model,
    answer_schema: draft.schema,
    tag_ids: [...draft.tagIds],
    kb_id: draft.kbId,
    metadata_filter: filter,
    temperature: number(draft.temperature),
    max_tokens: number(draft.maxTokens),
    max_iterations: Number(draft.maxIterations),
    token_budget: number(draft.tokenBudget),
    spu_budget: number(draft.spuBudget),
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
