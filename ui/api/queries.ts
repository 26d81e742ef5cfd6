/** Queries that several features share; each key begins with the name of what it lists. */

import { queryOptions } from "@tanstack/react-query";

import { answered, api, organizationPath, type Schemas } from "@/api/client";

export type Tag = Schemas["TagResponse"];
export type KnowledgeBase = Schemas["KnowledgeBaseResponse"];
export type Document = Schemas["DocumentResponse"];
export type DocumentDetail = Schemas["DocumentDetail"];

const PAGE = 100;
/** Past this, names of tags are looked up by searching; nobody reads a list of 2,000. */
const MOST_TAGS = 2_000;

export function organizationQuery() {
  return queryOptions({
    queryKey: ["organization"],
    queryFn: ({ signal }) => answered(api.GET("/v0/orgs/{organization_id}", { params: { path: organizationPath() }, signal })),
    staleTime: 60_000,
  });
}

/** How many documents are in each state, and why the failed ones failed. */
export function documentCountsQuery() {
  return queryOptions({
    queryKey: ["documents", "counts"],
    queryFn: ({ signal }) =>
      answered(api.GET("/v0/orgs/{organization_id}/documents/counts", { params: { path: organizationPath() }, signal })),
    refetchInterval: 20_000,
  });
}

/** Dead jobs, for their number. */
export function deadJobsQuery() {
  return queryOptions({
    queryKey: ["jobs", "dead-count"],
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
    queryKey: ["tags", "list", nameSearch, limit],
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
    queryKey: ["tags", "index"],
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
    queryKey: ["kbs", "list", nameSearch, limit, skip],
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
    queryKey: ["kbs", "one", kbId],
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
    queryKey: ["documents", "one", documentId],
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
    queryKey: ["documents", "names", nameSearch, limit],
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/documents", {
          params: { path: organizationPath(), query: { limit, ...(nameSearch && { name_search: nameSearch }) } },
          signal,
        }),
      ),
  });
}
