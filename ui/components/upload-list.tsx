"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useLayoutEffect, useRef } from "react";

import { type Tag, tagIndexQuery } from "@/api/queries";
import { documentKeys } from "@/api/keys";
import { tellFailure } from "@/components/feedback";
import { TagChips } from "@/components/tag-chip";
import { Button } from "@/components/ui/button";
import { POLICY_LABELS, UploadOptionsForm } from "@/components/upload-options";
import { UploadRow } from "@/components/upload-row";
import { plural } from "@/lib/format";
import { useMay } from "@/state/permissions";
import {
  addMissingTags,
  type Batch,
  chooseFiles,
  chooseFolder,
  closeTray,
  draftOf,
  progressOf,
  untagged,
  type Upload,
  type UploadState,
} from "@/state/uploads";

/** The batches of files that were dropped or chosen: options of the one to send, and a row for each file. */
export function UploadList({ state }: { state: UploadState }) {
  const { data: tagIndex } = useQuery(tagIndexQuery());
  const draft = draftOf(state);
  const heading = useFocusWhileOpen();
  return (
    <section
      aria-label="Uploads"
      className="layer appear fixed right-3 bottom-3 z-30 flex max-h-[70dvh] w-[400px] max-w-[calc(100vw-24px)] flex-col max-md:bottom-[68px]"
    >
      <div className="flex items-center gap-2 border-b border-line px-3 py-2">
        <h2 ref={heading} tabIndex={-1} className="min-w-0 flex-1 truncate font-semibold outline-none">
          {titleOf(state)}
        </h2>
        <Button size="small" onClick={chooseFiles}>
          Add files
        </Button>
        <Button size="small" onClick={chooseFolder}>
          Add folder
        </Button>
        <Button variant="quiet" size="small" onClick={closeTray} aria-label="Close uploads">
          <X aria-hidden size={14} />
        </Button>
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto">
        {state.batches.map((batch) => (
          <BatchFiles
            key={batch.id}
            batch={batch}
            uploads={state.uploads.filter((upload) => upload.batch === batch.id)}
            hasHeading={batch.isSent || state.batches.length > 1}
            tagIndex={tagIndex}
          />
        ))}
      </div>
      {draft && <UploadOptionsForm key={draft.id} draft={draft} count={progressOf(state).chosen} tagIndex={tagIndex} />}
    </section>
  );
}

function BatchFiles({
  batch,
  uploads,
  hasHeading,
  tagIndex,
}: {
  batch: Batch;
  uploads: readonly Upload[];
  hasHeading: boolean;
  tagIndex: ReadonlyMap<string, Tag> | undefined;
}) {
  const nameOf = (id: string) => tagIndex?.get(id)?.name ?? "unknown tag";
  const label = batch.isSent ? plural(uploads.length, "file") : `${plural(uploads.length, "file")} to upload`;
  return (
    <div role="group" aria-label={label}>
      {hasHeading && (
        <div className="flex min-h-8 items-center gap-2 border-b border-line bg-sunken px-3 py-1 text-xs text-text-2">
          <span className="shrink-0 font-medium">{label}</span>
          {batch.isSent &&
            (batch.tagIds.length > 0 ? <TagChips tagIds={batch.tagIds} index={tagIndex} most={3} /> : <span>without tags</span>)}
          {batch.isSent && batch.policy !== "return" && (
            <span className="ml-auto shrink-0">Existing files: {POLICY_LABELS[batch.policy].toLowerCase()}</span>
          )}
        </div>
      )}
      <MissingTags batch={batch} uploads={uploads} nameOf={nameOf} />
      <ul>
        {uploads.map((upload) => (
          <UploadRow key={upload.id} upload={upload} nameOf={nameOf} />
        ))}
      </ul>
    </div>
  );
}

/** Files that were uploaded before keep their tags; one button adds those of the batch. */
function MissingTags({ batch, uploads, nameOf }: { batch: Batch; uploads: readonly Upload[]; nameOf: (tagId: string) => string }) {
  const client = useQueryClient();
  const mayTag = useMay("change_documents");
  const lacking = untagged(uploads);
  const add = useMutation({
    mutationFn: () => addMissingTags(uploads, batch.tagIds),
    onError: (error) => tellFailure("Could not add the tags", error),
    onSettled: () => client.invalidateQueries({ queryKey: documentKeys.all }),
  });
  if (lacking.length === 0) return null;
  const missing = batch.tagIds.filter((id) => lacking.some((upload) => upload.missingTagIds.includes(id)));
  const names = missing.map(nameOf).join(", ");
  return (
    <div role="status" className="flex items-center gap-2 border-b border-line bg-warn-bg px-3 py-2 text-warn">
      <span className="min-w-0 flex-1 break-words">
        {plural(lacking.length, "file was", "files were")} already uploaded; {missing.length === 1 ? "tag" : "tags"} {names} not added.
      </span>
      {mayTag && (
        <Button size="small" className="shrink-0" disabled={add.isPending} onClick={() => add.mutate()}>
          Add {missing.length === 1 ? "tag" : "tags"}
        </Button>
      )}
    </div>
  );
}

/** The tray is last in the page: who chose files by the keyboard is taken to it, and back when it closes. */
function useFocusWhileOpen() {
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    const tray = heading.current?.closest("section");
    heading.current?.focus();
    return () => {
      // Afterwards, when the tray is gone: only a focus that went with it is brought back.
      const hadFocus = tray?.contains(document.activeElement) ?? false;
      if (hadFocus && before instanceof HTMLElement) queueMicrotask(() => before.isConnected && before.focus());
    };
  }, []);
  return heading;
}

function titleOf(state: UploadState): string {
  const { chosen, under, taken, refused } = progressOf(state);
  if (chosen === state.uploads.length) return plural(chosen, "file");
  if (under > 0) return `Sending, ${taken + refused} of ${state.uploads.length - chosen} done`;
  return `${plural(taken, "file")} sent${refused > 0 ? `, ${refused} failed` : ""}`;
}
