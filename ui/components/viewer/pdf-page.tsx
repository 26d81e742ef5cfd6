"use client";

import "react-pdf/dist/Page/TextLayer.css";

import { useState } from "react";
import { Document, Page, pdfjs } from "react-pdf";

import { SkeletonBlock } from "@/components/feedback";

import { BoxLayer } from "./box-layer";
import type { PageBoxes } from "./queries";

pdfjs.GlobalWorkerOptions.workerSrc = new URL("pdfjs-dist/build/pdf.worker.min.mjs", import.meta.url).toString();

const OPTIONS = {
  cMapUrl: "/pdf/cmaps/",
  standardFontDataUrl: "/pdf/standard_fonts/",
  wasmUrl: "/pdf/wasm/",
  // Functions made from text are what the page's policy forbids.
  isEvalSupported: false,
};

/** One page of a PDF, turned as it says, with boxes over it. */
export default function PdfPage({
  file,
  page,
  width,
  boxes,
  onFailure,
}: {
  file: Blob;
  page: number;
  width: number;
  boxes: PageBoxes["boxes"];
  onFailure: (reason: string) => void;
}) {
  // Over the page before they would mark other words.
  const [drawn, setDrawn] = useState(0);
  return (
    <div className="pdf-page">
      <Document
        file={file}
        options={OPTIONS}
        loading={<SkeletonBlock lines={8} />}
        error={null}
        onLoadError={(error) => onFailure(error.message)}
        onPassword={() => onFailure("The file needs a password.")}
      >
        <Page
          pageNumber={page}
          width={width}
          renderAnnotationLayer={false}
          loading={<SkeletonBlock lines={8} />}
          onRenderSuccess={() => setDrawn(page)}
          onLoadError={(error) => onFailure(error.message)}
        >
          {drawn === page && boxes.length > 0 && <BoxLayer boxes={boxes} />}
        </Page>
      </Document>
    </div>
  );
}
