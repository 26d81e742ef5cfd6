"use client";

import { useQuery } from "@tanstack/react-query";
import { ChevronLeft, ChevronRight, Columns2, FileText, Minus, PanelLeft, Plus } from "lucide-react";
import dynamic from "next/dynamic";
import { useState } from "react";

import type { DocumentDetail } from "@/api/queries";
import { EmptyState } from "@/components/feedback";
import { Banner } from "@/components/state";
import { Button } from "@/components/ui/button";
import { Input } from "@/components/ui/field";
import { canShowPage, PagePane } from "@/components/viewer/page-pane";
import { type Passage, partOnPage } from "@/components/viewer/passage";
import { textPageQuery } from "@/components/viewer/queries";
import { TextPane } from "@/components/viewer/text-pane";
import { extractionState, lacksPassword } from "@/lib/document-state";
import { useShortcuts } from "@/state/shortcuts";
import { NARROW, useMedia } from "@/state/use-media";

import { Warnings } from "./warnings";

/** Loaded for a file that needs it: a form is a tenth of the page's code. */
const FilePassword = dynamic(() => import("./file-password").then((module) => module.FilePassword), { ssr: false });
const SplitView = dynamic(() => import("@/components/viewer/split-view"), { ssr: false });

type Layout = "both" | "page" | "text";
const LAYOUTS: readonly { layout: Layout; label: string; icon: typeof Columns2 }[] = [
  { layout: "both", label: "Page and text", icon: Columns2 },
  { layout: "page", label: "Page only", icon: PanelLeft },
  { layout: "text", label: "Text only", icon: FileText },
];
const ZOOM_STEP = 1.25;

/** The page as it looks beside what was read from it. */
export function Reading({
  document,
  page,
  passage,
  onPage,
}: {
  document: DocumentDetail;
  page: number;
  passage: Passage | null;
  onPage: (page: number) => void;
}) {
  const isNarrow = useMedia(NARROW);
  const hasPage = canShowPage(document);
  const [chosen, setLayout] = useState<Layout | null>(null);
  const [zoom, setZoom] = useState(1);
  const pageCount = document.page_count ?? 0;
  const isRead = document.state === "extracted" || pageCount > 0;
  const layout: Layout = !hasPage ? "text" : chosen === "both" && isNarrow ? "page" : (chosen ?? (isNarrow ? "page" : "both"));
  const { data: text } = useQuery({
    ...textPageQuery(document.document_id, page),
    enabled: isRead && passage !== null && pageCount > 0,
  });
  const shown = text?.pages.find((item) => item.page_number === page);
  const part = passage && shown ? partOnPage(passage, shown) : null;
  const wanted = part && shown ? shown.text.slice(part[0], part[1]) : null;
  const marks = passage ? Array.from({ length: passage.lastPage - passage.firstPage + 1 }, (_, at) => passage.firstPage + at) : [];
  const markAt = marks.indexOf(page);
  const go = (to: number) => to >= 1 && to <= pageCount && to !== page && onPage(to);
  const goToMark = (step: number) => {
    const next = marks[(markAt + step + marks.length) % marks.length];
    if (next !== undefined) go(next);
  };
  const cycle = () => setLayout(layout === "both" ? "page" : layout === "page" ? "text" : isNarrow ? "page" : "both");
  useShortcuts([
    { keys: "]", label: "Next page", group: "Document", run: () => go(page + 1) },
    { keys: "[", label: "Previous page", group: "Document", run: () => go(page - 1) },
    { keys: "n", label: "Next highlight", group: "Document", run: () => goToMark(1) },
    { keys: "N", label: "Previous highlight", group: "Document", run: () => goToMark(-1) },
    { keys: "+", label: "Larger", group: "Document", run: () => setZoom((now) => Math.min(4, now * ZOOM_STEP)) },
    { keys: "-", label: "Smaller", group: "Document", run: () => setZoom((now) => Math.max(0.4, now / ZOOM_STEP)) },
    { keys: "0", label: "Fit the width", group: "Document", run: () => setZoom(1) },
    { keys: "v", label: "Page, text or both", group: "Document", run: cycle },
  ]);

  const pagePane = <PagePane key={document.document_id} document={document} page={page} zoom={zoom} passage={passage} wanted={wanted} />;
  const textPane = isRead ? <TextPane documentId={document.document_id} page={page} passage={passage} /> : <NotRead document={document} />;
  return (
    <>
      <div className="bar min-h-[44px] py-1">
        <Button isIcon aria-label="Previous page" disabled={page <= 1} onClick={() => go(page - 1)}>
          <ChevronLeft aria-hidden size={16} />
        </Button>
        <label className="flex items-center gap-2 whitespace-nowrap">
          <span className="max-md:sr-only">Page</span>
          <Input
            key={page}
            className="w-14 text-right tabular-nums"
            inputMode="numeric"
            defaultValue={page}
            onKeyDown={(event) => {
              if (event.key === "Enter") go(Number(event.currentTarget.value));
            }}
          />
          of {Math.max(1, pageCount)}
        </label>
        <Button isIcon aria-label="Next page" disabled={page >= pageCount} onClick={() => go(page + 1)}>
          <ChevronRight aria-hidden size={16} />
        </Button>
        {hasPage && layout !== "text" && (
          <span className="flex items-center gap-1 max-md:hidden">
            <Button variant="quiet" isIcon aria-label="Smaller" onClick={() => setZoom((now) => Math.max(0.4, now / ZOOM_STEP))}>
              <Minus aria-hidden size={14} />
            </Button>
            <Button variant="quiet" className="tabular-nums" onClick={() => setZoom(1)} title="Fit the width">
              {Math.round(zoom * 100)} %
            </Button>
            <Button variant="quiet" isIcon aria-label="Larger" onClick={() => setZoom((now) => Math.min(4, now * ZOOM_STEP))}>
              <Plus aria-hidden size={14} />
            </Button>
          </span>
        )}
        <span className="flex-1" />
        {marks.length > 0 && (
          <span className="flex items-center gap-2">
            {markAt >= 0 ? `Highlight ${markAt + 1} of ${marks.length}` : `Highlight on page ${marks[0]}`}
            {markAt < 0 && <Button onClick={() => go(marks[0] ?? 1)}>Show</Button>}
            {markAt >= 0 && marks.length > 1 && (
              <span className="flex">
                <Button variant="quiet" isIcon aria-label="Previous highlight" onClick={() => goToMark(-1)}>
                  <ChevronLeft aria-hidden size={16} />
                </Button>
                <Button variant="quiet" isIcon aria-label="Next highlight" onClick={() => goToMark(1)}>
                  <ChevronRight aria-hidden size={16} />
                </Button>
              </span>
            )}
          </span>
        )}
        {hasPage && (
          <div role="group" aria-label="Layout" className="flex">
            {LAYOUTS.filter((item) => !isNarrow || item.layout !== "both").map(({ layout: value, label, icon: Icon }) => (
              <Button
                key={value}
                type="button"
                variant="quiet"
                isIcon
                className={layout === value ? "bg-selected text-text" : ""}
                aria-label={label}
                title={label}
                aria-pressed={layout === value}
                onClick={() => setLayout(value)}
              >
                <Icon aria-hidden size={16} />
              </Button>
            ))}
          </div>
        )}
      </div>
      <Warnings document={document} />
      <div className="min-h-0 flex-1">
        {layout === "both" ? (
          <SplitView first={pagePane} second={textPane} label="Width of page and text" />
        ) : layout === "page" ? (
          pagePane
        ) : (
          textPane
        )}
      </div>
    </>
  );
}

function NotRead({ document }: { document: DocumentDetail }) {
  const state = extractionState(document);
  if (state?.tone === "failed") {
    return (
      <div className="flex flex-col gap-4 p-4">
        <Banner tone="failed">
          <strong className="font-semibold">{state.label}.</strong> {state.reason}
        </Banner>
        {lacksPassword(document) && <FilePassword document={document} />}
      </div>
    );
  }
  return <EmptyState title="The text is not ready yet">It appears here as soon as it is extracted.</EmptyState>;
}
