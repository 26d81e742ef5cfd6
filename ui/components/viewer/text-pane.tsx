"use client";

import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";

import { ErrorState, SkeletonBlock } from "@/components/feedback";
import { Banner } from "@/components/state";

import { type Passage, partOnPage } from "./passage";
import { textPageQuery } from "./queries";

/** A page's extracted text, with the passage marked. */
export function TextPane({ documentId, page, passage }: { documentId: string; page: number; passage: Passage | null }) {
  const { data, error, refetch, isPlaceholderData } = useQuery(textPageQuery(documentId, page));
  const mark = useRef<HTMLElement>(null);
  const shown = isPlaceholderData ? undefined : data?.pages[0];
  useEffect(() => {
    mark.current?.scrollIntoView({ block: "center" });
  }, [shown, passage]);
  if (error) return <ErrorState error={error} retry={() => void refetch()} title="The text could not be loaded" />;
  if (!data) return <SkeletonBlock lines={8} />;
  const present = shown ?? data.pages[0];
  if (!present) return <p className="p-4 text-text-2">No text was found on this page.</p>;
  const part = passage && partOnPage(passage, present);
  return (
    <div className="h-full overflow-auto p-4" tabIndex={0} role="region" aria-label="Text">
      <Origin source={present.source} page={present.page_number} />
      {present.text.trim() === "" ? (
        <p className="text-text-2">No text was found on this page.</p>
      ) : (
        <div className="max-w-[72ch] text-base break-words whitespace-pre-wrap">
          {part ? (
            <>
              {present.text.slice(0, part[0])}
              <mark ref={mark}>{present.text.slice(part[0], part[1])}</mark>
              {present.text.slice(part[1])}
            </>
          ) : (
            present.text
          )}
        </div>
      )}
    </div>
  );
}

function Origin({ source, page }: { source: string; page: number }) {
  if (source === "ocr") {
    return (
      <p className="mb-3 text-xs text-text-3">This text was read from an image (OCR). Check it against the page before you rely on it.</p>
    );
  }
  if (source === "vision") {
    return (
      <p className="mb-3 text-xs text-text-3">
        A vision model read this text from the page, because OCR read it badly. Check it against the page before you rely on it.
      </p>
    );
  }
  if (source === "needs_ocr") {
    return (
      <div className="mb-3">
        <Banner tone="warning">Page {page} is an image. Its text cannot be found because the server has no OCR language data.</Banner>
      </div>
    );
  }
  return null;
}
