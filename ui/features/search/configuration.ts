/** What a search is made with, as the URL carries it and as the API takes it. */

import type { Schemas } from "@/api/client";

import { type FilterRow, readFilter, toMetadataFilter } from "./filter";

export type Mode = "hybrid" | "vector" | "lexical";
export type Fusion = "weighted" | "rrf";

export interface Configuration {
  mode: Mode;
  topK: number;
  fusion: Fusion;
  /** Weight of vector search where scores are combined. */
  alpha: number;
  neighbours: number | null;
  threshold: number | null;
  rerank: boolean;
  hyde: boolean;
}

export const DEFAULT: Configuration = {
  mode: "hybrid",
  topK: 5,
  fusion: "weighted",
  alpha: 0.5,
  neighbours: null,
  threshold: null,
  rerank: false,
  hyde: false,
};

const MODES: readonly string[] = ["hybrid", "vector", "lexical"];

function between(text: string | undefined, least: number, most: number): number | null {
  if (text === undefined || text === "") return null;
  const value = Number(text);
  return Number.isFinite(value) && value >= least && value <= most ? value : null;
}

/** `vector,k=10,n=2`: only what differs from the default is written. */
export function writeConfiguration(configuration: Configuration): string {
  const { mode, topK, fusion, alpha, neighbours, threshold, rerank, hyde } = configuration;
  return [
    mode,
    ...(topK !== DEFAULT.topK ? [`k=${topK}`] : []),
    ...(fusion !== DEFAULT.fusion ? [`fusion=${fusion}`] : []),
    ...(alpha !== DEFAULT.alpha ? [`alpha=${alpha}`] : []),
    ...(neighbours !== null ? [`n=${neighbours}`] : []),
    ...(threshold !== null ? [`min=${threshold}`] : []),
    ...(rerank ? ["rerank"] : []),
    ...(hyde ? ["hyde"] : []),
  ].join(",");
}

/** What cannot be read counts as left out. */
export function readConfiguration(text: string): Configuration {
  const parts = new Map<string, string | undefined>(
    text.split(",").map((part) => {
      const [name = "", value] = part.split("=", 2);
      return [name, value];
    }),
  );
  const first = text.split(",")[0] ?? "";
  return {
    mode: MODES.includes(first) ? (first as Mode) : DEFAULT.mode,
    topK: Math.round(between(parts.get("k"), 1, 100) ?? DEFAULT.topK),
    fusion: parts.get("fusion") === "rrf" ? "rrf" : "weighted",
    alpha: between(parts.get("alpha"), 0, 1) ?? DEFAULT.alpha,
    neighbours: between(parts.get("n"), 0, 5),
    threshold: between(parts.get("min"), 0, 1),
    rerank: parts.has("rerank"),
    hyde: parts.has("hyde"),
  };
}

/** In a few words, for the head of a column. */
export function describe(configuration: Configuration): string[] {
  return [
    configuration.mode === "lexical" ? "keyword" : configuration.mode,
    `top ${configuration.topK}`,
    ...(configuration.mode === "hybrid" && configuration.fusion === "rrf" ? ["by rank"] : []),
    ...(configuration.mode === "hybrid" && configuration.fusion === "weighted" && configuration.alpha !== DEFAULT.alpha
      ? [`vector weight ${configuration.alpha}`]
      : []),
    ...(configuration.neighbours !== null ? [`${configuration.neighbours} neighbours`] : []),
    ...(configuration.threshold !== null ? [`at least ${configuration.threshold}`] : []),
    ...(configuration.rerank ? ["reranked"] : []),
    ...(configuration.hyde ? ["hypothetical answers"] : []),
  ];
}

/** The body of a search; what the defaults say is left to the server. */
export function searchBody(query: string, configuration: Configuration, filter: string): Schemas["SearchBody"] {
  const rows: FilterRow[] | null = readFilter(filter);
  const metadataFilter = rows === null ? (JSON.parse(filter) as Schemas["SearchBody"]["metadata_filter"]) : toMetadataFilter(rows);
  return {
    query,
    top_k: configuration.topK,
    skip: 0,
    history: [],
    mode: configuration.mode,
    ...(configuration.mode === "hybrid" && { fusion: configuration.fusion }),
    ...(configuration.mode === "hybrid" && configuration.fusion === "weighted" && { alpha: configuration.alpha }),
    ...(configuration.neighbours !== null && { coalesce_neighbors: configuration.neighbours }),
    ...(configuration.threshold !== null && { score_threshold: configuration.threshold }),
    ...(configuration.rerank && { rerank: true }),
    ...(configuration.hyde && { hyde: true }),
    ...(metadataFilter && { metadata_filter: metadataFilter }),
  };
}
