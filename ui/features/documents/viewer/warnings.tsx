"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { toast } from "sonner";

import { documentKeys } from "@/api/keys";
import type { DocumentDetail } from "@/api/queries";
import { May } from "@/components/may";
import { Banner } from "@/components/state";
import { Button } from "@/components/ui/button";
import { formatCount, plural } from "@/lib/format";

import { extractAgain, type PageReading } from "../actions";

/** The document's warnings, one item each, what its knowledge bases leave out, and what can be done here. */
export function Warnings({ document }: { document: DocumentDetail }) {
  const leftOut = leftOutWords(document);
  const items = leftOut === null ? document.warnings : [...document.warnings, leftOut];
  const choice = readingOffered(document);
  if (items.length === 0 && choice === null) return null;
  const isQuiet = items.length === 0;
  return (
    <div className="max-h-[30vh] overflow-y-auto border-b border-line px-4 py-2">
      <Banner tone={isQuiet ? "working" : "warning"}>
        {isQuiet ? (
          <p>The pages of this PDF are read by OCR.</p>
        ) : items.length === 1 ? (
          <p>{items[0]}</p>
        ) : (
          <ul aria-label="Warnings" className="flex list-disc flex-col gap-1 pl-4">
            {items.map((item) => (
              <li key={item}>{item}</li>
            ))}
          </ul>
        )}
        {choice !== null && <ReadPages documentId={document.document_id} choice={choice} />}
      </Banner>
    </div>
  );
}

const ACTION: Record<PageReading, string> = {
  ocr_flawed: "Read unreadable pages by OCR",
  ocr: "Read all pages by OCR",
  auto: "Read the PDF's own text again",
};

function ReadPages({ documentId, choice }: { documentId: string; choice: PageReading }) {
  const client = useQueryClient();
  const read = useMutation({
    mutationFn: () => extractAgain(documentId, choice),
    onSuccess: () => {
      toast("Extracting again. The current text stays searchable until the new one is ready.");
      void client.invalidateQueries({ queryKey: documentKeys.all });
    },
    onError: (error) => toast.error("The pages could not be read again", { description: error.message }),
  });
  return (
    <May to="extract_document">
      <Button className="mt-2" disabled={read.isPending} onClick={() => read.mutate()}>
        {ACTION[choice]}
      </Button>
    </May>
  );
}

const UNREADABLE = ["noise", "misdecoded", "visual_order"];

/** The next reading to try: the unreadable pages first, then all, then back to the file's own text. */
export function readingOffered(document: Pick<DocumentDetail, "content_type" | "state" | "flaws" | "read_pages">): PageReading | null {
  if (document.content_type !== "application/pdf" || document.state !== "extracted") return null;
  if (document.read_pages === "ocr") return "auto";
  const isFlawed = document.flaws.some((flaw) => UNREADABLE.includes(flaw.kind));
  if (document.read_pages === "ocr_flawed") return isFlawed ? "ocr" : "auto";
  return isFlawed ? "ocr_flawed" : null;
}

/** Bases are counted, since one that is behind may still hold the words. */
export function leftOutWords({ knowledge_bases: bases }: Pick<DocumentDetail, "knowledge_bases">): string | null {
  const skipping = bases.filter((base) => base.skipped_word_count > 0);
  const words = Math.max(0, ...skipping.map((base) => base.skipped_word_count));
  if (words === 0) return null;
  const which = skipping.length < bases.length ? `${formatCount(skipping.length)} of ${plural(bases.length, "knowledge base")}` : "search";
  return `Your organization's settings leave ${plural(words, "flawed word")} out of ${which}.`;
}
