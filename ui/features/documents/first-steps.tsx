"use client";

import { useQuery } from "@tanstack/react-query";
import { CircleCheck, CircleDashed } from "lucide-react";
import Link from "next/link";

import { knowledgeBaseListQuery, tagListQuery } from "@/api/queries";
import { EmptyState } from "@/components/feedback";
import { usePermissions } from "@/lib/permissions";
import { chooseFiles } from "@/lib/uploads";

/** What to do in an empty organization, and which of it is done. */
export function FirstSteps() {
  const { isKnown, may, whoMay } = usePermissions();
  const tags = useQuery(tagListQuery("", 1));
  const bases = useQuery(knowledgeBaseListQuery("", 1));
  const hasTags = (tags.data?.total_count ?? 0) > 0;
  const hasBases = (bases.data?.total_count ?? 0) > 0;
  if (!isKnown) return null;
  if (!may("upload_documents")) return <EmptyState title="No documents yet">{whoMay("upload_documents")} upload them.</EmptyState>;
  return (
    <div className="mx-auto flex max-w-[520px] flex-col gap-4 px-4 py-16">
      <h2 className="text-lg font-semibold">No documents yet. Drop files anywhere.</h2>
      <ol className="flex flex-col">
        <Step isDone={false} title="Upload files" action={<button type="button" className="button button-primary" onClick={chooseFiles}>Upload</button>}>
          PDF, Word, Excel, PowerPoint, OpenDocument, e-mail, EPUB, HTML, Markdown, CSV, text, or images of pages.
        </Step>
        <Step isDone={hasTags} title="Give them a tag" action={<Link className="button" href="/tags/">Tags</Link>}>
          In the tray that opens, or here beforehand.
        </Step>
        <Step isDone={hasBases} title="Create a knowledge base" action={<Link className="button" href="/kbs/new/">Create</Link>}>
          It gathers every document that shares its tags.
        </Step>
        <Step isDone={false} title="Search it" action={<Link className="button" href="/search/">Search</Link>}>
          Passages come with file, page and place.
        </Step>
      </ol>
    </div>
  );
}

function Step({ isDone, title, action, children }: { isDone: boolean; title: string; action: React.ReactNode; children: React.ReactNode }) {
  const Icon = isDone ? CircleCheck : CircleDashed;
  return (
    <li className="flex items-center gap-3 border-b border-line py-3 last:border-0">
      <Icon aria-hidden size={18} className={`shrink-0 ${isDone ? "text-ready" : "text-text-3"}`} />
      <div className="min-w-0 flex-1">
        <div className="font-semibold">
          {title}
          {isDone && <span className="sr-only"> (done)</span>}
        </div>
        <div className="text-text-2">{children}</div>
      </div>
      {action}
    </li>
  );
}
