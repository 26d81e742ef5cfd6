import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { answered, api, organizationPath, type Schemas } from "@/api/client";

import { original } from "../actions";

export type TextPage = Schemas["TextPageResponse"];
export type Attempt = Schemas["AttemptResponse"];

export function textPageQuery(documentId: string, page: number) {
  return queryOptions({
    queryKey: ["documents", "text", documentId, page],
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/documents/{document_id}/text", {
          params: { path: { ...organizationPath(), document_id: documentId }, query: { page } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  });
}

/** The file's bytes; `sha256` in the key, so that a replaced file is read anew. */
export function originalQuery(documentId: string, sha256: string) {
  return queryOptions({
    queryKey: ["documents", "original", documentId, sha256],
    queryFn: ({ signal }) => original(documentId, signal),
    staleTime: Infinity,
    gcTime: 60_000,
  });
}

export function documentLogQuery(documentId: string, skip: number, limit: number) {
  return queryOptions({
    queryKey: ["documents", "log", documentId, skip, limit],
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/documents/{document_id}/log", {
          params: { path: { ...organizationPath(), document_id: documentId }, query: { skip, limit } },
          signal,
        }),
      ),
    refetchInterval: 5_000,
  });
}
