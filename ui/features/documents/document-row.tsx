"use client";

import { RotateCw, Tag as TagIcon } from "lucide-react";
import Link from "next/link";
import { memo, useState } from "react";
import { toast } from "sonner";

import type { Document, DocumentDetail, Tag } from "@/api/queries";
import { tellFailure } from "@/components/feedback";
import { State } from "@/components/state";
import { TagChips } from "@/components/tag-chip";
import { TagPicker } from "@/components/tag-picker";
import { Time } from "@/components/time";
import { Button } from "@/components/ui/button";
import { documentState, type Progress, searchableIn } from "@/lib/document-state";
import { formatBytes, formatCount } from "@/lib/format";
import { useMay } from "@/state/permissions";

import { changeTag, extractAgain, replayJobs } from "./actions";

export const DocumentRow = memo(function DocumentRow({
  document,
  tagIndex,
  progress,
  isSelected,
  hasCursor,
  onToggle,
  onOpen,
  onChanged,
}: {
  document: DocumentDetail;
  tagIndex: ReadonlyMap<string, Tag> | undefined;
  progress: Progress | undefined;
  isSelected: boolean;
  hasCursor: boolean;
  onToggle: (withShift: boolean) => void;
  onOpen: () => void;
  onChanged: () => void;
}) {
  const mayChange = useMay("update_document");
  const id = document.document_id;
  return (
    <tr
      aria-selected={isSelected}
      data-cursor={hasCursor}
      data-item={id}
      onClick={(event) => {
        if (event.target instanceof Element && !event.target.closest("a, button, input, label, [role=dialog]")) onOpen();
      }}
    >
      <td className="pl-4! max-md:align-top max-md:pt-3!">
        <input
          type="checkbox"
          aria-label={`Select ${document.document_name}`}
          checked={isSelected}
          onChange={(event) => onToggle(event.nativeEvent instanceof MouseEvent && event.nativeEvent.shiftKey)}
        />
      </td>
      <td className="max-md:h-[84px]! max-md:py-2!">
        <Link href={`/documents/view/?id=${id}`} className="block truncate hover:underline max-md:text-base" title={document.document_name}>
          {document.document_name}
        </Link>
        <div className="flex items-center gap-2 md:hidden">
          <StateCell document={document} progress={progress} />
          <span className="shrink-0 text-text-3">
            <Time at={document.created_at} />
          </span>
        </div>
        <div className="md:hidden">
          <TagChips tagIds={document.tag_ids} index={tagIndex} most={3} />
        </div>
      </td>
      <td className="max-md:hidden">
        {mayChange ? (
          <TagCell document={document} tagIndex={tagIndex} onChanged={onChanged} />
        ) : (
          <TagChips tagIds={document.tag_ids} index={tagIndex} most={2} />
        )}
      </td>
      <td className="max-md:hidden">
        <StateCell document={document} progress={progress} canRetry={mayChange} onChanged={onChanged} />
      </td>
      <td className="tabular-nums @max-[928px]:hidden">{searchableIn(document)}</td>
      <td className="number @max-[1010px]:hidden">{formatCount(document.page_count)}</td>
      <td className="number @max-[836px]:hidden">{formatBytes(document.byte_size)}</td>
      <td className="text-text-2 max-md:hidden">
        <Time at={document.created_at} />
      </td>
    </tr>
  );
});

/** A row whose document was deleted while the list was open. */
export function DeletedRow({ document, hasCursor }: { document: Document; hasCursor: boolean }) {
  const { document_name: name } = document;
  return (
    <tr data-cursor={hasCursor} className="text-text-3">
      <td className="pl-4! max-md:align-top max-md:pt-3!">
        <input type="checkbox" disabled aria-label={`Select ${name}`} />
      </td>
      <td className="max-md:h-[84px]! max-md:py-2!">
        <s className="block truncate max-md:text-base" title={name}>
          {name}
        </s>
        <span className="md:hidden">
          <State tone="absent">Deleted</State>
        </span>
      </td>
      <td className="max-md:hidden" />
      <td className="max-md:hidden">
        <State tone="absent">Deleted</State>
      </td>
      <td className="@max-[928px]:hidden" />
      <td className="@max-[1010px]:hidden" />
      <td className="@max-[836px]:hidden" />
      <td className="max-md:hidden" />
    </tr>
  );
}

function StateCell({
  document,
  progress,
  canRetry = false,
  onChanged,
}: {
  document: DocumentDetail;
  progress: Progress | undefined;
  canRetry?: boolean;
  onChanged?: () => void;
}) {
  const state = documentState(document, progress);
  const [isBusy, setBusy] = useState(false);
  const retry = async () => {
    setBusy(true);
    try {
      await (state.canReplay ? replayJobs(document.document_id) : extractAgain(document.document_id));
      onChanged?.();
    } catch (error) {
      tellFailure(`${document.document_name} could not be retried`, error);
    }
    setBusy(false);
  };
  return (
    <span className="flex min-w-0 items-center gap-1">
      <State tone={state.tone} {...(state.reason && { title: state.reason })}>
        {state.label}
      </State>
      {canRetry && (state.canRetry || state.canReplay) && state.tone === "failed" && (
        <Button
          variant="quiet"
          size="small"
          className="shrink-0"
          title={state.canReplay ? "Index it again" : "Extract the text again"}
          aria-label={state.canReplay ? `Index ${document.document_name} again` : `Extract ${document.document_name} again`}
          disabled={isBusy}
          onClick={() => void retry()}
        >
          <RotateCw aria-hidden size={12} />
        </Button>
      )}
    </span>
  );
}

/** Tags in place: a change shows at once, and can be undone. */
function TagCell({
  document,
  tagIndex,
  onChanged,
}: {
  document: Document;
  tagIndex: ReadonlyMap<string, Tag> | undefined;
  onChanged: () => void;
}) {
  const [pending, setPending] = useState<ReadonlyMap<string, boolean>>(new Map());
  const tagIds = [
    ...document.tag_ids.filter((id) => pending.get(id) !== false),
    ...[...pending].filter(([id, isOn]) => isOn && !document.tag_ids.includes(id)).map(([id]) => id),
  ];
  const change = async (tag: Pick<Tag, "tag_id" | "name">, isOn: boolean, isUndo = false) => {
    setPending((now) => new Map(now).set(tag.tag_id, isOn));
    try {
      await changeTag(document.document_id, tag.tag_id, isOn);
      onChanged();
      if (!isUndo) {
        toast(`${isOn ? "Tagged" : "Took"} ${document.document_name} ${isOn ? "with" : "out of"} ${tag.name}`, {
          action: { label: "Undo", onClick: () => void change(tag, !isOn, true) },
        });
      }
    } catch (error) {
      setPending((now) => {
        const next = new Map(now);
        next.delete(tag.tag_id);
        return next;
      });
      tellFailure(`The tags of ${document.document_name} were not changed`, error);
    }
  };
  return (
    <TagPicker ticked={(id) => (tagIds.includes(id) ? "all" : "none")} onToggle={(tag, isOn) => void change(tag, isOn)}>
      <button type="button" className="flex min-h-6 w-full min-w-0 items-center rounded text-left">
        <span className="sr-only">Tags of {document.document_name}: </span>
        {tagIds.length > 0 ? (
          <TagChips tagIds={tagIds} index={tagIndex} most={2} narrowMost={1} />
        ) : (
          <span className="flex items-center gap-1 text-text-3">
            <TagIcon aria-hidden size={12} /> Add tag
          </span>
        )}
      </button>
    </TagPicker>
  );
}
