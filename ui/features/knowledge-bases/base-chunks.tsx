"use client";

import { useQuery } from "@tanstack/react-query";
import { parseAsInteger, parseAsString, useQueryStates } from "nuqs";

import { documentQuery, type KnowledgeBase } from "@/api/queries";
import { Select } from "@/components/ui/select";
import { ChunkBrowser } from "@/components/viewer/chunk-browser";
import { formatCount } from "@/lib/format";

import { indexedDocumentsQuery } from "./queries";

/** So many documents the list offers; the chunks of any other are opened from the tab of documents. */
const OFFERED = 100;

export function BaseChunks({ base }: { base: KnowledgeBase }) {
  const [url, setUrl] = useQueryStates({
    document: parseAsString,
    page: parseAsInteger.withDefault(1),
    chunk: parseAsString,
  });
  const documents = useQuery(indexedDocumentsQuery(base.kb_id, 0, OFFERED, base.chunk_count));
  const chosen = useQuery({ ...documentQuery(url.document ?? ""), enabled: url.document !== null });
  const offered = documents.data?.documents ?? [];
  const isOffered = offered.some((document) => document.document_id === url.document);
  const more = (documents.data?.total_count ?? 0) - offered.length;
  return (
    <>
      <div className="bar">
        <label className="flex min-w-0 flex-1 items-center gap-2 md:max-w-[480px]">
          <span className="whitespace-nowrap">Document</span>
          <Select
            className="min-w-0"
            value={url.document ?? ""}
            onChange={(event) => void setUrl({ document: event.target.value || null, page: null, chunk: null }, { history: "push" })}
          >
            <option value="">All documents</option>
            {url.document !== null && !isOffered && <option value={url.document}>{chosen.data?.document_name ?? "…"}</option>}
            {offered.map((document) => (
              <option key={document.document_id} value={document.document_id}>
                {document.document_name} ({formatCount(document.chunk_count)})
              </option>
            ))}
          </Select>
        </label>
        {more > 0 && (
          <span className="text-text-3 max-md:hidden">
            The latest {OFFERED} documents. For others, select their number of chunks under Documents.
          </span>
        )}
      </div>
      <ChunkBrowser
        kbId={base.kb_id}
        documentId={url.document}
        page={Math.max(1, url.page)}
        opened={url.chunk}
        onPage={(page) => void setUrl({ page, chunk: null }, { history: "push" })}
        onOpen={(chunk) => void setUrl({ chunk }, { history: "push" })}
      />
    </>
  );
}
