/** Queries that several features share. */

import { queryOptions } from "@tanstack/react-query";

import { answered, api, organizationPath, type Schemas } from "@/api/client";
import { documentKeys, jobKeys, kbKeys, organizationKeys, promptKeys, providerKeys, tagKeys } from "@/api/keys";

export type Tag = Schemas["TagResponse"];
export type KnowledgeBase = Schemas["KnowledgeBaseResponse"];
export type Document = Schemas["DocumentResponse"];
export type DocumentDetail = Schemas["DocumentDetail"];

const PAGE = 100;
/** Past this, names of tags are looked up by searching; nobody reads a list of 2,000. */
const MOST_TAGS = 2_000;

export function organizationQuery() {
  return queryOptions({
    queryKey: organizationKeys.one,
    queryFn: ({ signal }) => answered(api.GET("/v0/orgs/{organization_id}", { params: { path: organizationPath() }, signal })),
    staleTime: 60_000,
  });
}

/** How many documents are in each state, and why the failed ones failed. */
export function documentCountsQuery() {
  return queryOptions({
    queryKey: documentKeys.counts,
    queryFn: ({ signal }) =>
      answered(api.GET("/v0/orgs/{organization_id}/documents/counts", { params: { path: organizationPath() }, signal })),
    refetchInterval: 20_000,
  });
}

/** Dead jobs, for their number. */
export function deadJobsQuery() {
  return queryOptions({
    queryKey: jobKeys.deadCount,
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/jobs", {
          params: { path: organizationPath(), query: { state: ["dead"], limit: 1 } },
          signal,
        }),
      ),
    refetchInterval: 20_000,
  });
}

export function tagListQuery(nameSearch: string, limit = 50) {
  return queryOptions({
    queryKey: tagKeys.list(nameSearch, limit),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/tags", {
          params: { path: organizationPath(), query: { limit, ...(nameSearch && { name_search: nameSearch }) } },
          signal,
        }),
      ),
  });
}

/** Every tag by its id: rows name tags by id only. */
export function tagIndexQuery() {
  return queryOptions({
    queryKey: tagKeys.index,
    queryFn: async ({ signal }) => {
      const byId = new Map<string, Tag>();
      for (let skip = 0; skip < MOST_TAGS; skip += PAGE) {
        const page = await answered(
          api.GET("/v0/orgs/{organization_id}/tags", {
            params: { path: organizationPath(), query: { skip, limit: PAGE } },
            signal,
          }),
        );
        for (const tag of page.tags) byId.set(tag.tag_id, tag);
        if (skip + PAGE >= page.total_count) break;
      }
      return byId;
    },
    staleTime: 30_000,
  });
}

export function knowledgeBaseListQuery(nameSearch: string, limit = 50, skip = 0) {
  return queryOptions({
    queryKey: kbKeys.list(nameSearch, limit, skip),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/knowledge-bases", {
          params: { path: organizationPath(), query: { limit, skip, ...(nameSearch && { name_search: nameSearch }) } },
          signal,
        }),
      ),
  });
}

export function knowledgeBaseQuery(kbId: string) {
  return queryOptions({
    queryKey: kbKeys.one(kbId),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/knowledge-bases/{kb_id}", {
          params: { path: { ...organizationPath(), kb_id: kbId } },
          signal,
        }),
      ),
  });
}

export function documentQuery(documentId: string) {
  return queryOptions({
    queryKey: documentKeys.one(documentId),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/documents/{document_id}", {
          params: { path: { ...organizationPath(), document_id: documentId } },
          signal,
        }),
      ),
  });
}

export function documentNamesQuery(nameSearch: string, limit = 8) {
  return queryOptions({
    queryKey: documentKeys.names(nameSearch, limit),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/documents", {
          params: { path: organizationPath(), query: { limit, ...(nameSearch && { name_search: nameSearch }) } },
          signal,
        }),
      ),
  });
}

export function providersQuery() {
  return queryOptions({
    queryKey: providerKeys.all,
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/llm-providers", { params: { path: organizationPath(), query: { limit: 100 } }, signal }),
      ),
  });
}

/** SPUs used and left; refreshed on the usage page and among the settings. */
export function quotaQuery() {
  return queryOptions({
    queryKey: organizationKeys.quota,
    queryFn: ({ signal }) => answered(api.GET("/v0/orgs/{organization_id}/quota", { params: { path: organizationPath() }, signal })),
    staleTime: 15_000,
  });
}

/** The prompts that use a tag or a knowledge base; asked anew before each deletion. */
export function promptsUsingQuery(subject: { tag_id?: string; kb_id?: string }, limit: number) {
  return queryOptions({
    queryKey: promptKeys.using(subject),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/prompts", { params: { path: organizationPath(), query: { ...subject, limit } }, signal }),
      ),
    staleTime: 0,
  });
}
