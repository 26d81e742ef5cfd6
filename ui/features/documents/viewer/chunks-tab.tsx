"use client";

import { parseAsInteger, parseAsString, useQueryStates } from "nuqs";

import type { DocumentDetail } from "@/api/queries";
import { EmptyState } from "@/components/feedback";
import { Select } from "@/components/ui/select";
import { ChunkBrowser } from "@/components/viewer/chunk-browser";

/** The document's chunks in one of its knowledge bases: each cuts it in its own way. */
export function ChunksTab({ document }: { document: DocumentDetail }) {
  const [url, setUrl] = useQueryStates({
    kb: parseAsString,
    chunks: parseAsInteger.withDefault(1),
    chunk: parseAsString,
  });
  const bases = document.knowledge_bases;
  const base = bases.find((item) => item.kb_id === url.kb) ?? bases[0];
  if (!base)
    return (
      <EmptyState title="Not in a knowledge base">
        A document is cut into chunks by each knowledge base that shares a tag with it.
      </EmptyState>
    );
  return (
    <>
      {bases.length > 1 && (
        <div className="bar">
          <label className="flex min-w-0 flex-1 items-center gap-2 md:max-w-[420px]">
            <span className="whitespace-nowrap">Knowledge base</span>
            <Select
              className="min-w-0"
              value={base.kb_id}
              onChange={(event) => void setUrl({ kb: event.target.value, chunks: null, chunk: null }, { history: "push" })}
            >
              {bases.map((item) => (
                <option key={item.kb_id} value={item.kb_id}>
                  {item.name}
                </option>
              ))}
            </Select>
          </label>
        </div>
      )}
      <ChunkBrowser
        kbId={base.kb_id}
        documentId={document.document_id}
        page={Math.max(1, url.chunks)}
        opened={url.chunk}
        onPage={(chunks) => void setUrl({ chunks, chunk: null }, { history: "push" })}
        onOpen={(chunk) => void setUrl({ chunk }, { history: "push" })}
      />
    </>
  );
}
