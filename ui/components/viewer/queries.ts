import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { answered, api, organizationPath, type Schemas } from "@/api/client";
import { documentKeys } from "@/api/keys";

/** The file as it was uploaded. */
export async function original(documentId: string, signal?: AbortSignal): Promise<Blob> {
  return answered<unknown>(
    api.GET("/v0/orgs/{organization_id}/documents/{document_id}/original", {
      params: { path: { ...organizationPath(), document_id: documentId } },
      parseAs: "blob",
      ...(signal && { signal }),
    }),
  ) as Promise<Blob>;
}

export type PageBox = Schemas["BoxResponse"];

/** Where a passage stands on its pages; read from the file, so that it may take a second where a page is a scan. */
export function boxesQuery(documentId: string, sha256: string, { start, end }: { start: number; end: number }) {
  return queryOptions({
    queryKey: documentKeys.boxes(documentId, sha256, start, end),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/documents/{document_id}/boxes", {
          params: { path: { ...organizationPath(), document_id: documentId }, query: { start, end } },
          signal,
        }),
      ),
    staleTime: Infinity,
    // Without boxes the words are marked in the page's own text: no reason to ask again and again.
    retry: false,
  });
}

export function textPageQuery(documentId: string, page: number) {
  return queryOptions({
    queryKey: documentKeys.text(documentId, page),
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

/** The file's bytes; `sha256` in the key, so that a replaced file is read anew. */
export function originalQuery(documentId: string, sha256: string) {
  return queryOptions({
    queryKey: documentKeys.original(documentId, sha256),
    queryFn: ({ signal }) => original(documentId, signal),
    staleTime: Infinity,
    gcTime: 60_000,
  });
}
