import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { answered, api, organizationPath } from "@/api/client";
import { documentKeys } from "@/api/keys";
import { pollEvery } from "@/state/live";

export function documentLogQuery(documentId: string, skip: number, limit: number) {
  return queryOptions({
    queryKey: documentKeys.log(documentId, skip, limit),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/documents/{document_id}/log", {
          params: { path: { ...organizationPath(), document_id: documentId }, query: { skip, limit } },
          signal,
        }),
      ),
    refetchInterval: () => pollEvery(5_000),
  });
}

/** The documents found in this one, by name. */
export function partsQuery(documentId: string, skip: number, limit: number) {
  return queryOptions({
    queryKey: documentKeys.parts(documentId, skip, limit),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/documents", {
          params: {
            path: organizationPath(),
            query: { parent_id: documentId, sort: "document_name", include: ["knowledge_bases"], skip, limit },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: () => pollEvery(5_000),
  });
}
