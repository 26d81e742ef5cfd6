import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { answered, api, organizationPath, type Schemas } from "@/api/client";
import type { Document, DocumentDetail } from "@/api/queries";
import type { paths } from "@/api/schema";
import { documentKeys, jobKeys } from "@/api/keys";
import { documentState, type Progress } from "@/lib/document-state";
import { pollEvery } from "@/state/live";

import { type ValueType } from "./metadata";

type ListQuery = NonNullable<paths["/v0/orgs/{organization_id}/documents"]["get"]["parameters"]["query"]>;
export type DocumentSort = NonNullable<ListQuery["sort"]>;
export type ExtractionState = NonNullable<ListQuery["state"]>[number];

export type FileType = NonNullable<ListQuery["file_type"]>[number];

export interface DocumentFilter {
  nameSearch: string;
  states: ExtractionState[];
  fileTypes: FileType[];
  tagIds: string[];
  tagOperator: TagOperator;
  /** Only documents with a tag of this knowledge base; null for all. */
  kbId: string | null;
  /** Only documents that failed for this reason; null for all. */
  errorCode: string | null;
  /** Days in this browser's time zone, both included; empty: no bound. */
  from: string;
  to: string;
}

export const TAG_OPERATORS = ["all", "any", "none"] as const;
export type TagOperator = (typeof TAG_OPERATORS)[number];

export interface DocumentPage extends DocumentFilter {
  sort: DocumentSort;
  skip: number;
  limit: number;
}

export const LIVE_MILLISECONDS = 3_000;
const QUIET_MILLISECONDS = 15_000;

function parameters(filter: DocumentFilter): ListQuery {
  const { nameSearch, states, fileTypes, tagIds, tagOperator, kbId, errorCode } = filter;
  const conditions = conditionsOf(filter);
  return {
    ...(kbId && { kb_id: kbId }),
    ...(errorCode && { error_code: [errorCode] }),
    ...(nameSearch && { name_search: nameSearch }),
    ...(states.length > 0 && { state: states }),
    ...(fileTypes.length > 0 && { file_type: fileTypes }),
    ...(tagIds.length > 0 && tagOperator === "all" && { tag_ids: tagIds.join(",") }),
    ...(conditions !== null && { metadata_filter: JSON.stringify(conditions) }),
  };
}

/** What the API takes as a filter of a search; null where there is nothing of it. */
export function conditionsOf({ tagIds, tagOperator, from, to }: DocumentFilter): Record<string, Record<string, JsonValue>> | null {
  const conditions: Record<string, Record<string, JsonValue>> = {};
  if (tagIds.length > 0 && tagOperator !== "all") conditions.tag_ids = { [tagOperator === "any" ? "$in" : "$nin"]: tagIds };
  if (from || to) {
    conditions.upload_date = { ...(from && { $gte: startOf(from, 0) }), ...(to && { $lt: startOf(to, 1) }) };
  }
  return Object.keys(conditions).length === 0 ? null : conditions;
}

type JsonValue = string | string[];

/** When the day, or one after it, begins here. */
function startOf(day: string, daysLater: number): string {
  const start = new Date(`${day}T00:00:00`);
  start.setDate(start.getDate() + daysLater);
  return start.toISOString();
}

function list(query: ListQuery, signal?: AbortSignal) {
  return answered(
    api.GET("/v0/orgs/{organization_id}/documents", {
      params: { path: organizationPath(), query },
      ...(signal && { signal }),
    }),
  );
}

export function isExtracting(document: Document): boolean {
  return document.state === "uploaded" || document.state === "extracting";
}

/** A page with where each document stands in its knowledge bases: one call, however many rows. */
export function documentPageQuery(page: DocumentPage) {
  return queryOptions({
    queryKey: documentKeys.list(page),
    queryFn: async ({ signal }) => {
      const { sort, skip, limit } = page;
      const found = await list({ ...parameters(page), sort, skip, limit, include: ["knowledge_bases"] }, signal);
      return { ...found, documents: found.documents.map(standing) };
    },
    placeholderData: keepPreviousData,
    refetchInterval: (query) =>
      pollEvery(query.state.data?.documents.some((document) => documentState(document).isLive) ? LIVE_MILLISECONDS : QUIET_MILLISECONDS),
  });
}

function standing(document: Schemas["ListedDocumentResponse"]): DocumentDetail {
  return { ...document, knowledge_bases: document.knowledge_bases ?? [] };
}

/** Which of the documents no longer exist. */
export function deletedQuery(ids: readonly string[]) {
  return queryOptions({
    queryKey: documentKeys.list("deleted", ids),
    queryFn: async ({ signal }) => {
      const conditions = JSON.stringify({ document_id: { $in: ids } });
      const { documents } = await list({ metadata_filter: conditions, limit: Math.max(1, ids.length) }, signal);
      const existing = new Set(documents.map((document) => document.document_id));
      return { deletedIds: ids.filter((id) => !existing.has(id)) };
    },
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
  });
}

/** How many documents there are in all, whatever is filtered. */
export function documentCountQuery() {
  return queryOptions({
    queryKey: documentKeys.list("count"),
    queryFn: async ({ signal }) => (await list({ limit: 1 }, signal)).total_count,
  });
}

/** By document: how far the extractions are that run now. */
export function extractionProgressQuery() {
  return queryOptions({
    queryKey: jobKeys.extracting,
    queryFn: async ({ signal }) => {
      const { jobs } = await answered(
        api.GET("/v0/orgs/{organization_id}/jobs", {
          params: { path: organizationPath(), query: { kind: ["extract"], state: ["running"], limit: 100 } },
          signal,
        }),
      );
      return new Map<string, Progress>(
        jobs.flatMap((job) => (job.document_id && job.progress ? [[job.document_id, job.progress] as const] : [])),
      );
    },
    refetchInterval: () => pollEvery(LIVE_MILLISECONDS),
  });
}

const PAGE = 100;
/** A selection is held in memory and changed document by document: past this it takes minutes. */
export const MOST_SELECTED = 5_000;

/** Every document that passes the filter, up to MOST_SELECTED. */
export async function allMatching(filter: DocumentFilter): Promise<Document[]> {
  const found = new Map<string, Document>();
  for (let skip = 0; skip < MOST_SELECTED; skip += PAGE) {
    const page = await list({ ...parameters(filter), sort: "created_at", skip, limit: PAGE });
    for (const document of page.documents) found.set(document.document_id, document);
    if (skip + PAGE >= page.total_count) break;
  }
  return [...found.values()];
}

const metadataKeys = { declared: ["metadata-fields"] as const };

export type Declared = Readonly<Record<string, ValueType>>;

/** Fields of metadata whose type the organization has declared. */
export function declaredFieldsQuery() {
  return queryOptions({
    queryKey: metadataKeys.declared,
    queryFn: async ({ signal }) =>
      (await answered(api.GET("/v0/orgs/{organization_id}/metadata-fields", { params: { path: organizationPath() }, signal })))
        .fields as Declared,
    staleTime: 60_000,
  });
}
