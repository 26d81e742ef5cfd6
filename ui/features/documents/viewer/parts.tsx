"use client";

import { useQuery } from "@tanstack/react-query";
import Link from "next/link";
import { useState } from "react";

import { type DocumentDetail, documentQuery } from "@/api/queries";
import { Pager } from "@/components/pager";
import { State } from "@/components/state";
import { documentState } from "@/lib/document-state";

import { partsQuery } from "./queries";

const PER_PAGE = 50;

/** The documents found in this one: files of an archive, messages of a mailbox, attachments of an e-mail. */
export function Parts({ document }: { document: DocumentDetail }) {
  const [page, setPage] = useState(1);
  const { data } = useQuery(partsQuery(document.document_id, (page - 1) * PER_PAGE, PER_PAGE));
  if (!data || data.total_count === 0) return null;
  return (
    <section className="lg:col-span-2">
      <h2 className="mb-2 text-lg font-semibold">Documents in this file</h2>
      <ul aria-label="Documents in this file">
        {data.documents.map((part) => {
          const state = documentState({ ...part, knowledge_bases: part.knowledge_bases ?? [] });
          return (
            <li key={part.document_id} className="flex items-center gap-3 border-b border-line py-2">
              <Link href={`/documents/view/?id=${part.document_id}`} className="min-w-0 flex-1 truncate text-link hover:underline">
                {part.path}
              </Link>
              <State tone={state.tone} {...(state.reason && { title: state.reason })}>
                {state.label}
              </State>
            </li>
          );
        })}
      </ul>
      {data.total_count > PER_PAGE && (
        <Pager
          skip={data.skip}
          shown={data.documents.length}
          total={data.total_count}
          page={page}
          pageCount={Math.ceil(data.total_count / PER_PAGE)}
          onPage={setPage}
        />
      )}
    </section>
  );
}

/** The document in which this one was found, with a link. */
export function ParentLink({ parentId }: { parentId: string }) {
  const { data } = useQuery(documentQuery(parentId));
  return (
    <Link href={`/documents/view/?id=${parentId}&tab=details`} className="break-words text-link hover:underline">
      {data?.document_name ?? "Show the file"}
    </Link>
  );
}
