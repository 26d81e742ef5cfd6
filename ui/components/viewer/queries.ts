import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { answered, api, organizationPath, type Schemas } from "@/api/client";

export type PageBoxes = Schemas["PageBoxesResponse"];
export type TextPage = Schemas["TextPageResponse"];

/** The file as it was uploaded. */
export async function original(documentId: string, signal?: AbortSignal): Promise<Blob> {
  return answered(
    api.GET("/v0/orgs/{organization_id}/documents/{document_id}/original", {
      params: { path: { ...organizationPath(), document_id: documentId } },
      parseAs: "blob",
      ...(signal && { signal }),
    }),
  ) as Promise<Blob>;
}

export function textPageQuery(documentId: string, page: number) {
  return queryOptions({
    queryKey: ["documents", "text", documentId, page],
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/documents/{document_id}/text", {
          params: { path: { ...organizationPath(), document_id: documentId }, query: { page } },
          signal,
        }),
        // Beside JSON the route answers plain text, which hides the one type from the other.
      ) as Promise<Schemas["DocumentTextResponse"]>,
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  });
}

/** Where characters [start, end) of the document's text stand on its pages. */
export function boxesQuery(documentId: string, start: number, end: number) {
  return queryOptions({
    queryKey: ["documents", "boxes", documentId, start, end],
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/documents/{document_id}/boxes", {
          params: { path: { ...organizationPath(), document_id: documentId }, query: { start, end } },
          signal,
        }),
      ),
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
