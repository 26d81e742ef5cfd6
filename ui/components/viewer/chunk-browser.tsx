"use client";

import { useQuery } from "@tanstack/react-query";
import { Copy } from "lucide-react";

import { BusyLine, copyText, EmptyState, ErrorState, SkeletonBlock } from "@/components/feedback";
import { Pager } from "@/components/pager";
import { Button } from "@/components/ui/button";
import { formatCount, plural } from "@/lib/format";
import { useListPlace } from "@/state/list-place";
import { useShortcuts } from "@/state/shortcuts";

import { type Chunk, CHUNKS_A_PAGE, chunksQuery, pagesOf } from "./chunk-queries";
import { PageBeside } from "./page-beside";
import { passageOf } from "./passage";

/** The chunks of a knowledge base in their order, and the page of the one that is opened. */
export function ChunkBrowser({
  kbId,
  documentId,
  page,
  opened,
  onPage,
  onOpen,
}: {
  kbId: string;
  /** Only this document's. */
  documentId: string | null;
  page: number;
  /** The id of the chunk that is opened. */
  opened: string | null;
  onPage: (page: number) => void;
  onOpen: (chunkId: string | null) => void;
}) {
  const { data, error, refetch, isPlaceholderData } = useQuery(chunksQuery(kbId, documentId, page));
  const place = useListPlace({
    name: "chunks",
    view: JSON.stringify([kbId, documentId, page]),
    isReady: data !== undefined && !isPlaceholderData,
  });
  useShortcuts(opened === null ? [] : [{ keys: "Escape", label: "Close the side page", group: "Document", run: () => onOpen(null) }]);
  if (error && !data) return <ErrorState error={error} retry={() => void refetch()} />;
  if (!data) return <SkeletonBlock lines={10} />;
  if (data.total_count === 0) {
    return (
      <EmptyState title="No chunks yet">
        {documentId === null
          ? "They appear here as documents are indexed."
          : "This document is not indexed in the knowledge base, or has no text."}
      </EmptyState>
    );
  }
  const chunk = data.chunks.find((item) => item.chunk_id === opened) ?? null;
  return (
    <>
      <BusyLine isBusy={isPlaceholderData} />
      <div className="flex min-h-0 flex-1">
        <div {...place.props} className="min-h-0 min-w-0 flex-1 overflow-auto" role="region" aria-label="Chunks" tabIndex={0}>
          <ol>
            {data.chunks.map((item) => (
              <ChunkRow
                key={item.chunk_id}
                chunk={item}
                hasName={documentId === null}
                isOpened={item === chunk}
                isDimmed={chunk !== null && item !== chunk}
                onOpen={() => onOpen(item === chunk ? null : item.chunk_id)}
              />
            ))}
          </ol>
        </div>
        {chunk && (
          <PageBeside
            documentId={chunk.document_id}
            documentName={chunk.document_name}
            passage={passageOf(chunk)}
            onClose={() => onOpen(null)}
          />
        )}
      </div>
      <Pager
        skip={data.skip}
        shown={data.chunks.length}
        total={data.total_count}
        page={page}
        pageCount={Math.max(1, Math.ceil(data.total_count / CHUNKS_A_PAGE))}
        onPage={onPage}
      />
    </>
  );
}

function ChunkRow({
  chunk,
  hasName,
  isOpened,
  isDimmed,
  onOpen,
}: {
  chunk: Chunk;
  hasName: boolean;
  isOpened: boolean;
  isDimmed: boolean;
  onOpen: () => void;
}) {
  return (
    <li className={`flex items-start gap-2 border-b border-line px-4 py-2 ${isOpened ? "bg-selected" : ""}`}>
      <button type="button" className="min-w-0 flex-1 text-left" aria-expanded={isOpened} onClick={onOpen}>
        <span className="flex flex-wrap gap-x-3 text-xs text-text-2 tabular-nums">
          <span className="font-semibold">{formatCount(chunk.chunk_index + 1)}</span>
          {chunk.index_type !== "paragraph" && <span>{chunk.index_type}</span>}
          {hasName && <span className="min-w-0 max-w-[50%] truncate">{chunk.document_name}</span>}
          <span>{pagesOf(chunk)}</span>
          <span>{plural(chunk.token_count, "token")}</span>
          <span className="max-md:hidden">
            characters {formatCount(chunk.start)}–{formatCount(chunk.end)}
          </span>
        </span>
        <span
          className={`mt-1 block max-w-[80ch] text-base break-words whitespace-pre-wrap ${isOpened ? "" : "line-clamp-3"} ${isDimmed ? "text-text-3" : ""}`}
        >
          {chunk.text}
        </span>
      </button>
      <Button
        variant="quiet"
        size="small"
        aria-label={`Copy the id of chunk ${chunk.chunk_index + 1}`}
        title="Copy the id"
        onClick={() => void copyText(chunk.chunk_id)}
      >
        <Copy aria-hidden size={13} />
      </Button>
    </li>
  );
}
