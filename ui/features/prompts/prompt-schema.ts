/** The rules of the prompt form, loaded with it. */

import * as z from "zod/mini";

import { required, typedNumber } from "@/lib/checks";
import { formatCount } from "@/lib/format";

import { type Draft, filterProblem } from "./draft";

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
