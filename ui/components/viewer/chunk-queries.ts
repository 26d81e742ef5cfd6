import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { answered, api, organizationPath, type Schemas } from "@/api/client";
import { kbKeys } from "@/api/keys";

export type Chunk = Schemas["ChunkResponse"];

export const CHUNKS_A_PAGE = 50;

/** The chunks that are indexed in a knowledge base, of all its documents or of one. */
export function chunksQuery(kbId: string, documentId: string | null, page: number) {
  return queryOptions({
    queryKey: kbKeys.chunks(kbId, documentId, page),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/knowledge-bases/{kb_id}/chunks", {
          params: {
            path: { ...organizationPath(), kb_id: kbId },
            query: { skip: (page - 1) * CHUNKS_A_PAGE, limit: CHUNKS_A_PAGE, ...(documentId && { document_id: documentId }) },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
  });
}

export function pagesOf(chunk: Chunk): string {
  return chunk.first_page === chunk.last_page ? `p. ${chunk.first_page}` : `p. ${chunk.first_page}–${chunk.last_page}`;
}
