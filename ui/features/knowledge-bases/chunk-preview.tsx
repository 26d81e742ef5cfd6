"use client";

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";

import { documentNamesQuery } from "@/api/queries";
import { Banner } from "@/components/state";
import { Dialog } from "@/components/ui/dialog";
import { Field, Input } from "@/components/ui/field";
import { formatCount, plural } from "@/lib/format";

import { chunkingProblem } from "./chunking-problem";
import { type Chunking, chunkPreviewQuery } from "./queries";

const SHOWN_CHARACTERS = 600;

/** The chunks that settings make of a document; nothing is stored. */
export default function ChunkPreview({ chunking, onClose }: { chunking: Chunking; onClose: () => void }) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState<{ id: string; name: string } | null>(null);
  const wanted = useDeferredValue(text.trim());
  const documents = useQuery({ ...documentNamesQuery(wanted), placeholderData: keepPreviousData, enabled: chosen === null });
  return (
    <Dialog
      open
      onOpenChange={(isOpen) => !isOpen && onClose()}
      title="Preview chunks"
      description={`With the chunker “${chunking.chunker_type}”, ${formatCount(chunking.chunk_size)} tokens and an overlap of ${formatCount(chunking.chunk_overlap)}.`}
      wide
    >
      {chosen === null ? (
        <div className="flex flex-col gap-3">
          <Field label="Which document?">
            <Input autoFocus placeholder="Part of its name" value={text} onChange={(event) => setText(event.target.value)} />
          </Field>
          <ul className="flex min-h-[288px] flex-col">
            {documents.data?.documents.map((document) => (
              <li key={document.document_id}>
                <button
                  type="button"
                  className="menu-item w-full hover:bg-hover"
                  onClick={() => setChosen({ id: document.document_id, name: document.document_name })}
                >
                  <span className="truncate">{document.document_name}</span>
                </button>
              </li>
            ))}
            {documents.data?.documents.length === 0 && <li className="text-text-2">No document with that name.</li>}
          </ul>
        </div>
      ) : (
        <div className="flex min-h-[360px] flex-col gap-3">
          <h3 className="flex items-baseline gap-3 font-semibold">
            <span className="min-w-0 break-words">{chosen.name}</span>
            <button type="button" className="shrink-0 font-normal text-link hover:underline" onClick={() => setChosen(null)}>
              Choose another document
            </button>
          </h3>
          <Chunks documentId={chosen.id} chunking={chunking} />
        </div>
      )}
    </Dialog>
  );
}

function Chunks({ documentId, chunking }: { documentId: string; chunking: Chunking }) {
  const problem = chunkingProblem(chunking.chunk_size, chunking.chunk_overlap);
  const { data, error } = useQuery(chunkPreviewQuery(documentId, chunking));
  if (problem !== null) return <p className="text-text-2">{problem}</p>;
  if (error) return <Banner tone="failed">{error.message}</Banner>;
  if (!data) return <p className="text-text-2">Splitting the document…</p>;
  const leftOut = data.skipped_character_count;
  if (data.total_count === 0) {
    return (
      <p className="text-text-2">
        {leftOut > 0 ? "Your organization's settings leave out all of its text." : "The document has no text to split."}
      </p>
    );
  }
  const more = data.total_count - data.chunks.length;
  return (
    <>
      <p className="text-text-2" role="status">
        {plural(data.total_count, "chunk")}
        {more > 0 && `, the first ${formatCount(data.chunks.length)} are shown`}
        {!data.is_complete && ` of the first ${formatCount(data.character_count)} characters`}
        {leftOut > 0 && `; ${plural(leftOut, "character")} of flawed text left out`}
      </p>
      <ol className="flex flex-col" aria-label="Chunks">
        {data.chunks.map((chunk) => {
          const path = [...new Set([chunk.page_name, ...chunk.heading_path].filter(Boolean))].join(" › ");
          return (
            <li key={`${chunk.index_type}-${chunk.chunk_index}`} className="border-t border-line py-2">
              <div className="flex flex-wrap gap-x-3 text-xs text-text-2 tabular-nums">
                <span className="font-semibold text-text">{chunk.chunk_index + 1}</span>
                {chunking.index_types.length > 1 && <span>{chunk.index_type}</span>}
                <span>{plural(chunk.token_count, "token")}</span>
                <span>
                  {chunk.first_page === chunk.last_page ? `page ${chunk.first_page}` : `pages ${chunk.first_page}–${chunk.last_page}`}
                </span>
                {path && <span className="min-w-0 truncate">{path}</span>}
              </div>
              <p className="mt-1 text-base break-words whitespace-pre-line">
                {chunk.text.slice(0, SHOWN_CHARACTERS)}
                {chunk.text.length > SHOWN_CHARACTERS && "…"}
              </p>
            </li>
          );
        })}
      </ol>
    </>
  );
}
