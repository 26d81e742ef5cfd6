"use client";

import Link from "next/link";
import { useDeferredValue, useMemo, useState } from "react";
import Markdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";

import { ConfirmDialog } from "@/components/ui/dialog";

import { citationNumber, linkCitations, safeAddress } from "./answer-markdown";
import { type Citation, placeOf } from "./queries";

/** An answer's Markdown. HTML in it is shown as text, images are not loaded, and links say where they lead. */
export default function AnswerText({ text, citations }: { text: string; citations: readonly Citation[] }) {
  const shown = useDeferredValue(text);
  const [leaving, setLeaving] = useState<string | null>(null);
  const plugins = useMemo(() => [remarkGfm, linkCitations(shown, citations)], [shown, citations]);
  const components = useMemo(() => componentsFor(citations, setLeaving), [citations]);
  return (
    <div className="answer">
      <Markdown remarkPlugins={plugins} urlTransform={safeAddress} components={components}>
        {shown}
      </Markdown>
      <ConfirmDialog
        open={leaving !== null}
        onOpenChange={(isOpen) => !isOpen && setLeaving(null)}
        title="Open this link?"
        action="Open link"
        isSafe
        onConfirm={() => leaving !== null && window.open(leaving, "_blank", "noopener,noreferrer")}
      >
        <span className="font-mono text-sm break-all text-text">{leaving}</span>
        <span className="mt-2 block">The model wrote this link. It leads out of Analytiq.</span>
      </ConfirmDialog>
    </div>
  );
}

function componentsFor(citations: readonly Citation[], leave: (address: string) => void): Components {
  return {
    a: ({ href, children }) => {
      const number = citationNumber(href);
      const citation = citations.find((each) => each.number === number);
      if (citation) {
        return (
          <Link
            className="text-link underline"
            href={placeOf(citation)}
            aria-label={`Citation ${citation.number}: ${citation.source}, page ${citation.page}`}
          >
            {children}
          </Link>
        );
      }
      if (!href || number !== null) return <>{children}</>;
      return (
        <a
          className="text-link underline"
          href={href}
          title={href}
          rel="noopener noreferrer nofollow"
          onClick={(event) => {
            event.preventDefault();
            leave(href);
          }}
        >
          {children}
        </a>
      );
    },
    // Loading it would tell its server what was asked.
    img: ({ alt, src }) => (
      <span className="text-text-2">
        [Image{alt ? `: ${alt}` : ""}
        {typeof src === "string" && src ? `, ${src}` : ""}]
      </span>
    ),
    // The page has its own headings of the first level.
    h1: ({ children }) => <h2>{children}</h2>,
    table: ({ children }) => (
      <div className="overflow-x-auto" tabIndex={0} role="region" aria-label="Table">
        {/* eslint-disable-next-line no-restricted-syntax -- A table of the answer's own text, not of rows of ours. */}
        <table>{children}</table>
      </div>
    ),
    pre: ({ children }) => <pre tabIndex={0}>{children}</pre>,
  };
}
