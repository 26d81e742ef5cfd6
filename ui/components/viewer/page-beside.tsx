"use client";

import { useQuery } from "@tanstack/react-query";
import { ExternalLink, X } from "lucide-react";

import { documentQuery } from "@/api/queries";
import { ErrorState, SkeletonBlock } from "@/components/feedback";
import { Button, ButtonLink } from "@/components/ui/button";
import { noteLeaving } from "@/state/list-place";

import { canShowPage, PagePane } from "./page-pane";
import { partOnPage, type Passage, passageHref } from "./passage";
import { textPageQuery } from "./queries";
import { TextPane } from "./text-pane";

/** The page that a passage begins on, with its words marked, beside what names the passage; over everything on a phone. */
export function PageBeside({
  documentId,
  documentName,
  passage,
  onClose,
}: {
  documentId: string;
  documentName: string;
  passage: Passage;
  onClose: () => void;
}) {
  const page = passage.firstPage;
  const { data: document, error, refetch } = useQuery(documentQuery(documentId));
  const { data: text } = useQuery(textPageQuery(documentId, page));
  const shown = text?.pages.find((item) => item.page_number === page);
  const part = shown && partOnPage(passage, shown);
  return (
    <aside
      aria-label={`Page ${page} of ${documentName}`}
      className="flex w-[46%] min-w-[360px] flex-col border-l border-line bg-canvas max-lg:fixed max-lg:inset-0 max-lg:z-40 max-lg:w-auto max-lg:min-w-0"
    >
      <div className="flex items-center gap-2 border-b border-line px-3 py-1">
        <span className="flex min-w-0 flex-1 gap-2">
          <span className="truncate font-semibold" title={documentName}>
            {documentName}
          </span>
          <span className="shrink-0 text-text-2">page {page}</span>
        </span>
        <ButtonLink href={passageHref(documentId, passage)} onClick={() => noteLeaving(documentId)} variant="quiet" size="small">
          <ExternalLink aria-hidden size={13} /> Open
        </ButtonLink>
        <Button variant="quiet" size="small" onClick={onClose} aria-label="Close the page">
          <X aria-hidden size={14} />
        </Button>
      </div>
      <div className="min-h-0 flex-1">
        {error ? (
          <ErrorState error={error} retry={() => void refetch()} />
        ) : !document ? (
          <SkeletonBlock lines={8} />
        ) : canShowPage(document) ? (
          <PagePane
            key={documentId}
            document={document}
            page={page}
            zoom={1}
            passage={passage}
            wanted={part && shown ? shown.text.slice(part[0], part[1]) : null}
          />
        ) : (
          <TextPane documentId={documentId} page={page} passage={passage} />
        )}
      </div>
    </aside>
  );
}
