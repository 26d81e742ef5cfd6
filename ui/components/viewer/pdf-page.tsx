"use client";

import "react-pdf/dist/Page/TextLayer.css";

import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Document, Page, pdfjs } from "react-pdf";

import { SkeletonBlock } from "@/components/feedback";

import { BoxLayer } from "./box-layer";
import { escapeHtml, placeInPieces } from "./passage";
import type { PageBox } from "./queries";

pdfjs.GlobalWorkerOptions.workerSrc = new URL("pdfjs-dist/build/pdf.worker.min.mjs", import.meta.url).toString();

const OPTIONS = {
  cMapUrl: "/pdf/cmaps/",
  standardFontDataUrl: "/pdf/standard_fonts/",
  wasmUrl: "/pdf/wasm/",
  // Functions made from text are what the page's policy forbids.
  isEvalSupported: false,
};

/** One page of a PDF with the boxes of a passage, or where there are none with the wanted words marked in its text;
`onPlaced` tells whether they were found. */
export default function PdfPage({
  file,
  page,
  width,
  boxes,
  wanted,
  onPlaced,
  onFailure,
}: {
  file: Blob;
  page: number;
  width: number;
  boxes: readonly PageBox[];
  wanted: string | null;
  onPlaced: (isPlaced: boolean) => void;
  onFailure: (reason: string) => void;
}) {
  const [pieces, setPieces] = useState<{ page: number; texts: string[] } | null>(null);
  const marks = useMemo(
    () => (pieces?.page === page && wanted !== null ? placeInPieces(pieces.texts, wanted) : null),
    [pieces, page, wanted],
  );
  const [drawn, setDrawn] = useState<number | null>(null);
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (pieces?.page === page && wanted !== null) onPlaced(marks !== null);
  }, [pieces, page, wanted, marks, onPlaced]);
  const draw = useCallback(
    ({ str, itemIndex }: { str: string; itemIndex: number }) => {
      const mark = marks?.get(itemIndex);
      if (!mark) return escapeHtml(str);
      const [before, inside, after] = [str.slice(0, mark.from), str.slice(mark.from, mark.to), str.slice(mark.to)];
      return `${escapeHtml(before)}<mark>${escapeHtml(inside)}</mark>${escapeHtml(after)}`;
    },
    [marks],
  );
  const showMark = () => frame.current?.querySelector("mark")?.scrollIntoView({ block: "center", inline: "nearest" });
  return (
    <div ref={frame} className="pdf-page">
      <Document
        file={file}
        options={OPTIONS}
        loading={<SkeletonBlock lines={8} />}
        error={null}
        // Otherwise a file that is damaged takes the whole page down with it, tabs and reasons too.
        suspense={false}
        onLoadError={(error) => onFailure(error.message)}
        onPassword={() => onFailure("The file needs a password.")}
      >
        <Page
          pageNumber={page}
          width={width}
          renderAnnotationLayer={false}
          customTextRenderer={draw}
          loading={<SkeletonBlock lines={8} />}
          onGetTextSuccess={({ items }) => setPieces({ page, texts: items.map((item) => ("str" in item ? item.str : "")) })}
          onRenderTextLayerSuccess={showMark}
          onRenderSuccess={() => setDrawn(page)}
          onLoadError={(error) => onFailure(error.message)}
        >
          {drawn === page && <BoxLayer boxes={boxes} />}
        </Page>
      </Document>
    </div>
  );
}
