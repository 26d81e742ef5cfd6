"use client";

import { useQuery } from "@tanstack/react-query";
import { CircleCheck, CircleDashed, X } from "lucide-react";
import Link from "next/link";
import { useEffect } from "react";

import { knowledgeBaseListQuery, tagListQuery } from "@/api/queries";
import { EmptyState } from "@/components/feedback";
import { Button, ButtonLink } from "@/components/ui/button";
import { beginFirstSteps, endFirstSteps, useFirstSteps } from "@/state/first-steps";
import { usePermissions } from "@/state/permissions";
import { chooseFiles } from "@/state/uploads";

/** What to do in an empty organization, and which of it is done. */
export function FirstSteps() {
  const { isKnown, may, whoMay } = usePermissions();
  const { hasTags, hasBases, progress } = useDone();
  useEffect(beginFirstSteps, []);
  if (!isKnown) return null;
  if (!may("upload_documents")) return <EmptyState title="No documents yet">{whoMay("upload_documents")} upload them.</EmptyState>;
  return (
    <div className="mx-auto flex max-w-[520px] flex-col gap-4 px-4 py-16 max-md:py-6">
      <h2 className="text-lg font-semibold">No documents yet. Drop files anywhere.</h2>
      {progress.stage === "over" ? (
        <Button variant="primary" className="self-start" onClick={chooseFiles}>
          Upload
        </Button>
      ) : (
        <>
          <ol className="flex flex-col">
            <Step
              isDone={false}
              title="Upload files"
              action={
                <Button variant="primary" onClick={chooseFiles}>
                  Upload
                </Button>
              }
            >
              PDF, Word, Excel, PowerPoint, OpenDocument, e-mail, EPUB, HTML, Markdown, CSV, text, or images of pages.
            </Step>
            <Step isDone={hasTags} title="Give them a tag" action={<ButtonLink href="/tags/">Tags</ButtonLink>}>
              Choose it in the upload panel, or create it here first.
            </Step>
            <Step isDone={hasBases} title="Create a knowledge base" action={<ButtonLink href="/kbs/new/">Create</ButtonLink>}>
              A knowledge base contains every document that shares its tags.
            </Step>
            <Step isDone={progress.hasSearched} title="Search it" action={<ButtonLink href="/search/">Search</ButtonLink>}>
              Each result shows its document, page and passage.
            </Step>
          </ol>
          <Button variant="quiet" className="self-start" onClick={endFirstSteps}>
            Dismiss these steps
          </Button>
        </>
      )}
    </div>
  );
}

/** The same in one line above the first documents, until everything is done or it is dismissed. */
export function RemainingSteps() {
  const { hasTags, hasBases, progress } = useDone();
  const isDone = hasTags && hasBases && progress.hasSearched;
  useEffect(() => {
    if (isDone) endFirstSteps();
  }, [isDone]);
  return (
    <section aria-label="First steps" className="bar bg-sunken">
      <ol className="flex min-w-0 flex-1 flex-wrap items-center gap-x-4 gap-y-1">
        <ShortStep isDone title="Upload" />
        <ShortStep isDone={hasTags} title="Tag" href="/tags/" />
        <ShortStep isDone={hasBases} title="Create a knowledge base" href="/kbs/new/" />
        <ShortStep isDone={progress.hasSearched} title="Search" href="/search/" />
      </ol>
      <Button variant="quiet" isIcon aria-label="Dismiss the first steps" onClick={endFirstSteps}>
        <X aria-hidden size={14} />
      </Button>
    </section>
  );
}

function useDone() {
  const tags = useQuery(tagListQuery("", 1));
  const bases = useQuery(knowledgeBaseListQuery("", 1));
  return { hasTags: (tags.data?.total_count ?? 0) > 0, hasBases: (bases.data?.total_count ?? 0) > 0, progress: useFirstSteps() };
}

function Mark({ isDone, size }: { isDone: boolean; size: number }) {
  const Icon = isDone ? CircleCheck : CircleDashed;
  return <Icon aria-hidden size={size} className={`shrink-0 ${isDone ? "text-ready" : "text-text-3"}`} />;
}

function ShortStep({ isDone, title, href }: { isDone: boolean; title: string; href?: string }) {
  return (
    <li className="flex items-center gap-1.5">
      <Mark isDone={isDone} size={15} />
      {isDone || href === undefined ? (
        <span className="text-text-2">{title}</span>
      ) : (
        <Link href={href} className="text-link hover:underline">
          {title}
        </Link>
      )}
      {isDone && <span className="sr-only"> (done)</span>}
    </li>
  );
}

function Step({ isDone, title, action, children }: { isDone: boolean; title: string; action: React.ReactNode; children: React.ReactNode }) {
  return (
    <li className="flex items-center gap-3 border-b border-line py-3 last:border-0">
      <Mark isDone={isDone} size={18} />
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
