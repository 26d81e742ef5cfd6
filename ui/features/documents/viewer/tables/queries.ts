import { queryOptions } from "@tanstack/react-query";

import { answered, api, organizationPath, type Schemas } from "@/api/client";
import type { DocumentDetail } from "@/api/queries";
import { documentKeys } from "@/api/keys";

export type Table = Schemas["TableResponse"];
export type TableAnswer = Schemas["TableQueryResponse"];

type Version = Pick<DocumentDetail, "document_id" | "sha256" | "state">;

/** The tables of a document, read from its file. */
export function tablesQuery({ document_id: documentId, sha256, state }: Version) {
  return queryOptions({
    queryKey: documentKeys.tables(documentId, sha256, state),
    queryFn: async ({ signal }) => {
      const page = await answered(
        api.GET("/v0/orgs/{organization_id}/tables", {
          params: { path: organizationPath(), query: { document_id: documentId } },
          signal,
        }),
      );
      return page.documents[0] ?? null;
    },
    staleTime: 300_000,
  });
}

/** The answer to a query about a table's rows; the same query about the same file is answered once. */
export function tableAnswerQuery({ sha256 }: Version, tableId: string, sql: string) {
  return queryOptions({
    queryKey: documentKeys.tableAnswer(tableId, sha256, sql),
    queryFn: ({ signal }) =>
      answered(
        api.POST("/v0/orgs/{organization_id}/tables/{table_id}/query", {
          params: { path: { ...organizationPath(), table_id: tableId } },
          body: { sql, max_rows: 100, max_source_rows: 20 },
          signal,
        }),
      ),
    enabled: sql.trim() !== "",
    staleTime: Infinity,
    refetchOnWindowFocus: false,
    // A query that is wrong stays wrong, and one that took too long would again.
    retry: false,
  });
}
