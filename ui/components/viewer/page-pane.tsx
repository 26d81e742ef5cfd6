"use client";

import { useQuery } from "@tanstack/react-query";
import dynamic from "next/dynamic";
import { useCallback, useEffect, useRef, useState } from "react";

import type { DocumentDetail } from "@/api/queries";
import { ErrorState, SkeletonBlock } from "@/components/feedback";
import { Banner } from "@/components/state";

import { BoxLayer } from "./box-layer";
import type { Passage } from "./passage";
import { boxesQuery, originalQuery, type PageBox } from "./queries";

const PdfPage = dynamic(() => import("./pdf-page"), { ssr: false, loading: () => <SkeletonBlock lines={8} /> });

const SHOWN_IMAGES = new Set(["image/png", "image/jpeg", "image/webp", "image/gif", "image/bmp"]);

export function canShowPage(document: DocumentDetail): boolean {
  return document.content_type === "application/pdf" || SHOWN_IMAGES.has(document.content_type);
}

const NO_BOXES: readonly PageBox[] = [];

/** The page as it looks, on paper that stays white in the dark. The passage is boxed on it; `wanted` are its words on
this page, which are marked in the page's own text where it has no boxes. */
export function PagePane({
  document,
  page,
  zoom,
  passage,
  wanted,
}: {
  document: DocumentDetail;
  page: number;
  zoom: number;
  passage: Passage | null;
  wanted: string | null;
}) {
  const { data: file, error, refetch } = useQuery(originalQuery(document.document_id, document.sha256));
  const places = useQuery({
    ...boxesQuery(document.document_id, document.sha256, passage ?? { start: 0, end: 1 }),
    enabled: passage !== null && wanted !== null,
  });
  const boxes = (passage && places.data?.pages.find((item) => item.page_number === page)?.boxes) || NO_BOXES;
  const isBoxed = boxes.length > 0;
  const isLooking = passage !== null && places.isLoading;
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const [isPlaced, setPlaced] = useState(true);
  const [failure, setFailure] = useState<{ page: number; reason: string } | null>(null);
  const drawnWidth = Math.max(1, Math.round((width - 24) * zoom));
  const isPdf = document.content_type === "application/pdf";
  if (error) return <ErrorState error={error} retry={() => void refetch()} title="The file could not be loaded" />;
  return (
    <div ref={frame} className="h-full overflow-auto bg-sunken p-3" tabIndex={0} role="region" aria-label="Page">
      {wanted !== null && !isBoxed && !isLooking && (!isPlaced || !isPdf) && (
        <div className="mx-auto mb-3 max-w-[720px]">
          <Banner tone="warning">The passage cannot be highlighted on the page. It is highlighted in the text.</Banner>
        </div>
      )}
      {failure?.page === page ? (
        <Banner tone="failed">The page could not be displayed. {failure.reason}</Banner>
      ) : file === undefined || width === 0 ? (
        <SkeletonBlock lines={8} />
      ) : isPdf ? (
        // Its place is kept while it is drawn; 1.3 is a little less than the shape of a page.
        <div className="mx-auto bg-paper shadow-[0_0_0_1px_var(--border)]" style={{ width: drawnWidth, minHeight: drawnWidth * 1.3 }}>
          <PdfPage
            file={file}
            page={page}
            width={drawnWidth}
            boxes={boxes}
            wanted={isBoxed || isLooking ? null : wanted}
            onPlaced={setPlaced}
            onFailure={(reason) => setFailure({ page, reason })}
          />
        </div>
      ) : (
        <ImagePage file={file} name={document.document_name} width={drawnWidth} boxes={boxes} />
      )}
    </div>
  );
}

function ImagePage({ file, name, width, boxes }: { file: Blob; name: string; width: number; boxes: readonly PageBox[] }) {
  const [isDrawn, setDrawn] = useState(false);
  const show = useCallback(
    (image: HTMLImageElement) => {
      image.src = URL.createObjectURL(file);
      return () => URL.revokeObjectURL(image.src);
    },
    [file],
  );
  return (
    <div className="relative mx-auto bg-paper" style={{ width }}>
      <img ref={show} alt={`Page of ${name}`} className="max-w-none" style={{ width }} onLoad={() => setDrawn(true)} />
      {isDrawn && <BoxLayer boxes={boxes} />}
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
