/** A prompt as its form holds it and as the API takes it. Fields have the API's names, numbers and JSON are as typed. */

import * as z from "zod/mini";

import type { Schemas } from "@/api/client";
import { required, typedNumber } from "@/lib/checks";
import { formatCount } from "@/lib/format";

import { isObject, type JsonObject } from "./answer-schema";
import type { Prompt, PromptVersion } from "./queries";

/** A number as typed, in a range that may begin at zero; empty: none. */
function optionalNumber(least: number, most: number) {
  const problem = `Enter a whole number from ${formatCount(least)} to ${formatCount(most)}.`;
  return typedNumber(problem, { least, most, isOptional: true });
}

export const PROMPT_SCHEMA = z
  .object({
    name: required("Enter a name."),
    text: required("Enter the instructions."),
    model: z.nullable(z.string()),
    /** JSON; empty: the answer is a text. */
    answer_schema: z.string(),
    /** Why the schema cannot be saved as it stands; empty where it can. */
    schema_problem: z.string(),
    tag_ids: z.array(z.string()),
    runs_on_existing: z.boolean(),
    kb_id: z.nullable(z.string()),
    /** JSON as typed; empty: none. */
    metadata_filter: z.string(),
    temperature: typedNumber("Enter a number from 0 to 2.", { least: 0, most: 2, isWhole: false, isOptional: true }),
    max_tokens: optionalNumber(1, 1_000_000),
    max_iterations: typedNumber("Enter a whole number from 1 to 20.", { least: 1, most: 20 }),
    token_budget: optionalNumber(100, 100_000_000),
    spu_budget: optionalNumber(0, 1_000_000),
  })
  .check(({ value, issues }) => {
    const refuse = (field: keyof Draft, message: string) => issues.push({ code: "custom", message, path: [field], input: value[field] });
    if (value.schema_problem !== "") refuse("answer_schema", value.schema_problem);
    const problem = value.kb_id === null ? null : filterProblem(value.metadata_filter);
    if (problem !== null) refuse("metadata_filter", problem);
  });

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
