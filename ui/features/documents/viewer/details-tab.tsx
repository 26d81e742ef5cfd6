"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { PencilLine, Plus, X } from "lucide-react";
import dynamic from "next/dynamic";
import Link from "next/link";
import { useState } from "react";

import { type DocumentDetail, tagIndexQuery } from "@/api/queries";
import { documentKeys } from "@/api/keys";
import { EmptyState, tellFailure } from "@/components/feedback";
import { May } from "@/components/may";
import { ScrollArea } from "@/components/scroll-area";
import { SourceLink } from "@/components/source-link";
import { State, type Tone } from "@/components/state";
import { TagChip } from "@/components/tag-chip";
import { TagPicker } from "@/components/tag-picker";
import { Time } from "@/components/time";
import { Button } from "@/components/ui/button";
import { hasLockedParts } from "@/lib/document-state";
import { formatBytes, formatCount, plural } from "@/lib/format";

import { changeMetadata, changeTag } from "../actions";
import type { MetadataChanges } from "../bulk-changes";
import { ParentLink, Parts } from "./parts";

const FilePassword = dynamic(() => import("./file-password").then((module) => module.FilePassword), { ssr: false });
const SourceUrlDialog = dynamic(() => import("./source-url-dialog").then((module) => module.SourceUrlDialog), { ssr: false });
const MetadataDialog = dynamic(() => import("../metadata-dialog").then((module) => module.MetadataDialog), { ssr: false });

const TONE_OF: Record<string, Tone> = {
  indexed: "ready",
  waiting: "queued",
  waiting_for_quota: "waiting-for-quota",
  waiting_for_provider: "waiting-for-provider",
  indexing: "working",
  failed: "failed",
  empty: "warning",
};
const WORDS_OF: Record<string, string> = {
  indexed: "Ready",
  waiting: "Waiting to be indexed",
  waiting_for_quota: "Waiting for quota",
  waiting_for_provider: "Waiting for the provider",
  indexing: "Indexing",
  failed: "Indexing failed",
  empty: "No text found",
};

export function DetailsTab({ document }: { document: DocumentDetail }) {
  return (
    <ScrollArea label="Details" className="p-4">
      <div className="grid max-w-[1100px] gap-8 lg:grid-cols-2">
        <section>
          <h2 className="mb-2 text-lg font-semibold">Where it can be found</h2>
          {document.knowledge_bases.length === 0 ? (
            <EmptyState title="Not in a knowledge base">Add a tag of a knowledge base to index the document there.</EmptyState>
          ) : (
            <ul>
              {document.knowledge_bases.map((base) => (
                <li key={base.kb_id} className="flex flex-col gap-0.5 border-b border-line py-2">
                  <div className="flex items-center gap-3">
                    <Link href={`/kbs/view/?id=${base.kb_id}`} className="min-w-0 flex-1 truncate font-medium text-link hover:underline">
                      {base.name}
                    </Link>
                    <State tone={TONE_OF[base.state] ?? "queued"}>{WORDS_OF[base.state] ?? base.state}</State>
                  </div>
                  <div className="break-words text-text-2">
                    {base.reason ?? (
                      <>
                        {plural(base.chunk_count, "chunk")}, indexed <Time at={base.indexed_at} />
                      </>
                    )}
                    {base.reason && base.is_searchable && " Until then, searches find its previous text."}
                  </div>
                </li>
              ))}
            </ul>
          )}
        </section>
        <section>
          <h2 className="mb-2 text-lg font-semibold">Document</h2>
          <TagLine document={document} />
          <dl className="grid grid-cols-[120px_minmax(0,1fr)] gap-x-4 gap-y-1.5">
            <Line term="Pages">{formatCount(document.page_count)}</Line>
            <Line term="Characters">{formatCount(document.character_count)}</Line>
            <Line term="Size">{formatBytes(document.byte_size)}</Line>
            <Line term="Type">{document.content_type}</Line>
            <Line term="Added">
              <Time at={document.created_at} />
            </Line>
            <Line term="Changed">
              <Time at={document.updated_at} />
            </Line>
            {document.parent_id && (
              <Line term="Found in">
                <ParentLink parentId={document.parent_id} />
              </Line>
            )}
            {document.path && <Line term="Path in it">{document.path}</Line>}
            {document.external_identity && (
              <Line term="Source">
                {document.external_identity.source}: {document.external_identity.external_id}
                {document.external_identity.version && ` (version ${document.external_identity.version})`}
              </Line>
            )}
            <Line term="Original">
              <Original document={document} />
            </Line>
            <Line term="SHA-256">
              <span className="font-mono text-xs break-all">{document.sha256}</span>
            </Line>
            <Line term="Id">
              <span className="font-mono text-xs break-all">{document.document_id}</span>
            </Line>
          </dl>
          <Metadata document={document} />
        </section>
        <Parts document={document} />
        {hasLockedParts(document) && (
          <section className="lg:col-span-2">
            <FilePassword document={document} title="Some files in this archive need a password" />
          </section>
        )}
      </div>
    </ScrollArea>
  );
}

function Original({ document }: { document: DocumentDetail }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <span className="inline-flex max-w-full flex-wrap items-center gap-2">
      {document.source_url ? <SourceLink address={document.source_url} /> : <span className="text-text-2">No web address</span>}
      <May to="update_document">
        <Button size="small" onClick={() => setOpen(true)} aria-label={document.source_url ? "Edit web address" : "Add web address"}>
          <PencilLine aria-hidden size={13} /> {document.source_url ? "Edit" : "Add"}
        </Button>
      </May>
      {isOpen && <SourceUrlDialog document={document} onClose={() => setOpen(false)} />}
    </span>
  );
}

function Metadata({ document }: { document: DocumentDetail }) {
  const client = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const save = useMutation({
    mutationFn: (changes: MetadataChanges) => changeMetadata(document.document_id, changes),
    onSuccess: async () => {
      setOpen(false);
      await client.invalidateQueries({ queryKey: documentKeys.all });
    },
  });
  const fields = Object.entries(document.metadata);
  return (
    <>
      <div className="mt-6 mb-2 flex items-center gap-3">
        <h2 className="text-lg font-semibold">Metadata</h2>
        <May to="update_document">
          <Button
            size="small"
            onClick={() => {
              save.reset();
              setOpen(true);
            }}
          >
            <PencilLine aria-hidden size={13} /> {fields.length === 0 ? "Add" : "Edit"}
          </Button>
        </May>
      </div>
      {fields.length === 0 ? (
        <p className="text-text-2">No metadata yet. Searches and lists can filter by metadata.</p>
      ) : (
        <dl className="grid grid-cols-[120px_minmax(0,1fr)] gap-x-4 gap-y-1.5">
          {fields.map(([name, value]) => (
            <Line key={name} term={name}>
              {typeof value === "string" ? value : typeof value === "boolean" ? (value ? "Yes" : "No") : JSON.stringify(value)}
            </Line>
          ))}
        </dl>
      )}
      {isOpen && (
        <MetadataDialog
          title={`Metadata of ${document.document_name}`}
          description="Fields with a declared type accept only values of that type."
          present={document.metadata}
          action="Save"
          error={save.error?.message ?? null}
          isBusy={save.isPending}
          onSave={(changes) => save.mutate(changes)}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}

function Line({ term, children }: { term: string; children: React.ReactNode }) {
  return (
    <>
      <dt className="truncate text-text-2" title={term}>
        {term}
      </dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </>
  );
}

function TagLine({ document }: { document: DocumentDetail }) {
  const { data: index } = useQuery(tagIndexQuery());
  const client = useQueryClient();
  const [isBusy, setBusy] = useState(false);
  const change = async (tagId: string, isOn: boolean) => {
    setBusy(true);
    try {
      await changeTag(document.document_id, tagId, isOn);
      await client.invalidateQueries({ queryKey: documentKeys.all });
    } catch (error) {
      tellFailure("The tags were not changed", error);
    }
    setBusy(false);
  };
  return (
    <div className="mb-3 flex flex-wrap items-center gap-2" aria-busy={isBusy}>
      {document.tag_ids.map((id) => {
        const tag = index?.get(id);
        return (
          tag && (
            <span key={id} className="inline-flex items-center">
              <TagChip tag={tag} />
              <May to="update_document">
                <Button variant="quiet" size="small" aria-label={`Remove tag ${tag.name}`} onClick={() => void change(id, false)}>
                  <X aria-hidden size={12} />
                </Button>
              </May>
            </span>
          )
        );
      })}
      <May to="update_document">
        <TagPicker
          ticked={(id) => (document.tag_ids.includes(id) ? "all" : "none")}
          onToggle={(tag, isOn) => void change(tag.tag_id, isOn)}
        >
          <Button size="small">
            <Plus aria-hidden size={13} /> Tag
          </Button>
        </TagPicker>
      </May>
    </div>
  );
}
