"use client";

import { useQuery } from "@tanstack/react-query";
import { ExternalLink, X } from "lucide-react";
import Link from "next/link";

import { documentQuery } from "@/api/queries";
import { ErrorState, SkeletonBlock } from "@/components/feedback";
import { canShowPage, PagePane } from "@/components/viewer/page-pane";
import { partOnPage } from "@/components/viewer/passage";
import { textPageQuery } from "@/components/viewer/queries";
import { TextPane } from "@/components/viewer/text-pane";
import { noteLeaving } from "@/lib/list-place";

import { viewerHref } from "./hit-card";
import type { Hit } from "./queries";

/** The page that a hit is on, with the passage marked; over everything on a phone. */
export function HitPreview({ hit, onClose }: { hit: Hit; onClose: () => void }) {
  const { data: document, error, refetch } = useQuery(documentQuery(hit.document_id));
  const { data: text } = useQuery(textPageQuery(hit.document_id, hit.first_page));
  const passage = { firstPage: hit.first_page, lastPage: hit.last_page, start: hit.start, end: hit.end };
  const shown = text?.pages.find((page) => page.page_number === hit.first_page);
  const part = shown && partOnPage(passage, shown);
  return (
    <aside
      aria-label={`Page ${hit.first_page} of ${hit.source}`}
      className="flex w-[46%] min-w-[360px] flex-col border-l border-line bg-canvas max-lg:fixed max-lg:inset-0 max-lg:z-40 max-lg:w-auto max-lg:min-w-0"
    >
      <div className="flex items-center gap-2 border-b border-line px-3 py-1">
        <span className="min-w-0 flex-1 truncate font-semibold">
          {hit.source} <span className="font-normal text-text-2">page {hit.first_page}</span>
        </span>
        <Link href={viewerHref(hit)} onClick={() => noteLeaving(hit.document_id)} className="button button-quiet button-small">
          <ExternalLink aria-hidden size={13} /> Open
        </Link>
        <button type="button" className="button button-quiet button-small" onClick={onClose} aria-label="Close the page">
          <X aria-hidden size={14} />
        </button>
      </div>
      <div className="min-h-0 flex-1">
        {error ? (
          <ErrorState error={error} retry={() => void refetch()} />
        ) : !document ? (
          <SkeletonBlock lines={8} />
        ) : canShowPage(document) ? (
          <PagePane
            key={hit.document_id}
            document={document}
            page={hit.first_page}
            zoom={1}
            passage={passage}
            wanted={part && shown ? shown.text.slice(part[0], part[1]) : null}
          />
        ) : (
          <TextPane documentId={hit.document_id} page={hit.first_page} passage={passage} />
        )}
      </div>
    </aside>
  );
}
