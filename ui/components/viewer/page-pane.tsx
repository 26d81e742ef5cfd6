"use client";

import { useQuery } from "@tanstack/react-query";
import dynamic from "next/dynamic";
import { useEffect, useRef, useState } from "react";

import type { DocumentDetail } from "@/api/queries";
import { ErrorState, SkeletonBlock } from "@/components/feedback";
import { Banner } from "@/components/state";

import { BoxLayer } from "./box-layer";
import type { Passage } from "./passage";
import { boxesQuery, originalQuery, type PageBoxes } from "./queries";

const PdfPage = dynamic(() => import("./pdf-page"), { ssr: false, loading: () => <SkeletonBlock lines={8} /> });

const SHOWN_IMAGES = new Set(["image/png", "image/jpeg", "image/webp", "image/gif", "image/bmp"]);

export function canShowPage(document: DocumentDetail): boolean {
  return document.content_type === "application/pdf" || SHOWN_IMAGES.has(document.content_type);
}

/** The page as it looks, on paper that stays white in the dark. */
export function PagePane({
  document,
  page,
  zoom,
  passage,
}: {
  document: DocumentDetail;
  page: number;
  zoom: number;
  passage: Passage | null;
}) {
  const { data: file, error, refetch } = useQuery(originalQuery(document.document_id, document.sha256));
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const { data: placed, error: unplacedError } = useQuery({
    ...boxesQuery(document.document_id, passage?.start ?? 0, passage?.end ?? 1),
    enabled: passage !== null,
  });
  const part = passage === null ? undefined : placed?.pages.find((item) => item.page_number === page);
  const boxes = part?.boxes ?? NO_BOXES;
  const isUnplaced = passage !== null && (unplacedError !== null || (part !== undefined && part.unplaced !== null));
  const [failure, setFailure] = useState<string | null>(null);
  const drawnWidth = Math.max(1, Math.round((width - 24) * zoom));
  const isPdf = document.content_type === "application/pdf";
  if (error) return <ErrorState error={error} retry={() => void refetch()} title="The file could not be loaded" />;
  return (
    <div ref={frame} className="h-full overflow-auto bg-sunken p-3" tabIndex={0} role="region" aria-label="Page">
      {isUnplaced && (
        <div className="mx-auto mb-3 max-w-[720px]">
          <Banner tone="warning">{unplacedBecause(part)} It is marked in the text.</Banner>
        </div>
      )}
      {failure ? (
        <Banner tone="failed">The page could not be drawn. {failure}</Banner>
      ) : file === undefined || width === 0 ? (
        <SkeletonBlock lines={8} />
      ) : isPdf ? (
        // Its place is kept while it is drawn; 1.3 is a little less than the shape of a page.
        <div
          className="mx-auto bg-paper shadow-[0_0_0_1px_var(--border)]"
          style={{ width: drawnWidth, minHeight: drawnWidth * 1.3 }}
        >
          <PdfPage
            file={file}
            page={page}
            width={drawnWidth}
            boxes={boxes}
            onFailure={setFailure}
          />
        </div>
      ) : (
        <ImagePage file={file} name={document.document_name} width={drawnWidth} boxes={boxes} />
      )}
    </div>
  );
}

const NO_BOXES: PageBoxes["boxes"] = [];

function unplacedBecause(part: PageBoxes | undefined): string {
  if (part?.unplaced === "differs") return "The words on the page differ from those that were read, so no place is marked on it.";
  if (part?.unplaced === "unreadable") return "The page could not be read again to find the passage's place.";
  return "The passage's place on the page is not known.";
}

function ImagePage({
  file,
  name,
  width,
  boxes,
}: {
  file: Blob;
  name: string;
  width: number;
  boxes: PageBoxes["boxes"];
}) {
  const [url, setUrl] = useState<string | null>(null);
  const [isDrawn, setDrawn] = useState(false);
  useEffect(() => {
    const made = URL.createObjectURL(file);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  if (url === null) return null;
  return (
    <div className="relative mx-auto" style={{ width }}>
      {/* eslint-disable-next-line @next/next/no-img-element */}
      <img src={url} alt={`Page of ${name}`} className="max-w-none bg-paper" style={{ width }} onLoad={() => setDrawn(true)} />
      {isDrawn && boxes.length > 0 && <BoxLayer boxes={boxes} />}
    </div>
  );
}

function useWidth(element: React.RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (!element.current) return;
    const observer = new ResizeObserver(([entry]) => {
      // A scroll bar that comes and goes must not redraw the page for ever.
      if (entry) setWidth((now) => (Math.abs(now - entry.contentRect.width - 24) > 20 ? entry.contentRect.width + 24 : now));
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return width;
}
