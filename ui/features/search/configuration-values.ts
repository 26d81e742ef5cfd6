/** A search configuration as its form holds it; the page needs no schema until the form is opened. */

import * as z from "zod/mini";

import { typedNumber } from "@/lib/checks";

import type { Configuration } from "./configuration";

/** As typed in the form; an empty number is the default. */
export const SCHEMA = z.object({
  mode: z.enum(["hybrid", "vector", "lexical"]),
  topK: typedNumber("Enter a whole number from 1 to 100.", { least: 1, most: 100 }),
  fusion: z.enum(["weighted", "rrf"]),
  alpha: typedNumber("Enter a number from 0 to 1.", { least: 0, most: 1, isWhole: false }),
  neighbours: typedNumber("Enter a whole number from 0 to 5.", { least: 0, most: 5, isOptional: true }),
  threshold: typedNumber("Enter a number from 0 to 1.", { least: 0, most: 1, isWhole: false, isOptional: true }),
  rerank: z.boolean(),
  hyde: z.boolean(),
});

export type ConfigurationValues = z.infer<typeof SCHEMA>;

export function valuesOf(configuration: Configuration): ConfigurationValues {
  const { topK, alpha, neighbours, threshold, ...rest } = configuration;
  return { ...rest, topK: String(topK), alpha: String(alpha), neighbours: String(neighbours ?? ""), threshold: String(threshold ?? "") };
}

export function configurationOf(values: ConfigurationValues): Configuration {
  const figure = (text: string) => (text.trim() === "" ? null : Number(text));
  const { topK, alpha, neighbours, threshold, ...rest } = values;
  return { ...rest, topK: Number(topK), alpha: Number(alpha), neighbours: figure(neighbours), threshold: figure(threshold) };
}
