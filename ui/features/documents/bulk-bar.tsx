"use client";

import { Download, RotateCw, Tag as TagIcon, Trash2, X } from "lucide-react";
import { useState } from "react";
import { toast } from "sonner";

import type { Document, Tag } from "@/api/queries";
import { ConfirmDialog } from "@/components/dialog";
import { tellFailure } from "@/components/feedback";
import { TagPicker } from "@/components/tag-picker";
import { formatCount, plural } from "@/lib/format";
import { useShortcuts } from "@/lib/shortcuts";
import { UNDO_MILLISECONDS } from "@/lib/undo";

import { changeTag, deleteDocument, download, extractAgain, forEach, type Outcome } from "./actions";
import { FailedDialog } from "./failed-dialog";
import { allMatching, type DocumentFilter, MOST_SELECTED } from "./queries";
import type { Selection } from "./use-selection";

/** More deletions than this are confirmed by typing their number. */
const TYPED_ABOVE = 100;

export function BulkBar({
  selection,
  filter,
  matching,
  onChanged,
}: {
  selection: Selection;
  filter: DocumentFilter;
  matching: number;
  onChanged: () => void;
}) {
  const [busy, setBusy] = useState<string | null>(null);
  const [isDeleting, setDeleting] = useState(false);
  const [areTagsOpen, setTagsOpen] = useState(false);
  const [failed, setFailed] = useState<Outcome<Document>["failed"]>([]);
  const documents = [...selection.documents.values()];
  const count = documents.length;

  const run = async (doing: string, act: (document: Document) => Promise<unknown>, items = documents) => {
    setBusy(`${doing} ${formatCount(items.length)}…`);
    const outcome = await forEach(items, act, (finished) =>
      setBusy(`${doing} ${formatCount(finished)} of ${formatCount(items.length)}`),
    );
    setBusy(null);
    onChanged();
    return outcome;
  };
  const tell = (outcome: Outcome<Document>, undo?: () => void) => {
    const { done, failed: missed } = outcome;
    const words = `${formatCount(done.length)} changed${missed.length > 0 ? `, ${formatCount(missed.length)} failed` : ""}`;
    const action =
      missed.length > 0
        ? { label: "Show", onClick: () => setFailed(missed) }
        : undo && { label: "Undo", onClick: undo };
    toast(words, { duration: UNDO_MILLISECONDS, ...(action && { action }) });
  };
  const tag = async (changed: Tag, isOn: boolean) => {
    const affected = documents.filter((document) => document.tag_ids.includes(changed.tag_id) !== isOn);
    const apply = (wanted: boolean, items: Document[]) =>
      run(wanted ? "Tagging" : "Untagging", (document) => changeTag(document.document_id, changed.tag_id, wanted), items);
    const outcome = await apply(isOn, affected);
    remember(outcome.done, changed.tag_id, isOn);
    tell(outcome, () =>
      void apply(!isOn, outcome.done).then((undone) => {
        remember(undone.done, changed.tag_id, !isOn);
        tell(undone);
      }),
    );
  };
  // The selection holds rows as they were: their tags follow what was done.
  const remember = (done: readonly Document[], tagId: string, isOn: boolean) =>
    selection.set(
      done.map((document) => ({
        ...document,
        tag_ids: isOn ? [...document.tag_ids, tagId] : document.tag_ids.filter((id) => id !== tagId),
      })),
      true,
    );
  const selectMatching = async () => {
    setBusy("Selecting…");
    try {
      selection.set(await allMatching(filter), true);
    } catch (error) {
      tellFailure("Not all could be selected", error);
    }
    setBusy(null);
  };
  const remove = async () => {
    const outcome = await run("Deleting", (document) => deleteDocument(document.document_id));
    selection.set(outcome.done, false);
    tell(outcome);
  };
  const downloadAll = async () => tell(await run("Downloading", download));
  const retry = async () => tell(await run("Reading again", (document) => extractAgain(document.document_id)));
  useShortcuts([
    { keys: "t", label: "Tags of the selection", group: "List", run: () => setTagsOpen(true) },
    { keys: "r", label: "Read the selection again", group: "List", run: () => void retry() },
    { keys: "Delete", label: "Delete the selection", group: "List", run: () => setDeleting(true) },
  ]);

  const ticked = (tagId: string) => {
    const having = documents.filter((document) => document.tag_ids.includes(tagId)).length;
    return having === 0 ? "none" : having === count ? "all" : "some";
  };
  const most = Math.min(matching, MOST_SELECTED);
  return (
    <div className="bar bg-selected" role="region" aria-label="Selection">
      <strong className="font-semibold" role="status">
        {formatCount(count)} selected
      </strong>
      {busy ? (
        <span role="status" className="text-text-2">
          {busy}
        </span>
      ) : (
        count < most && (
          <button type="button" className="text-link hover:underline" onClick={() => void selectMatching()}>
            Select {matching > MOST_SELECTED ? `the first ${formatCount(most)}` : `all ${formatCount(matching)}`} matching
          </button>
        )
      )}
      <span className="flex-1" />
      <fieldset disabled={busy !== null} className="contents">
        <TagPicker
          ticked={ticked}
          onToggle={(changed, isOn) => void tag(changed, isOn)}
          align="end"
          open={areTagsOpen}
          onOpenChange={setTagsOpen}
        >
          <button type="button" className="button">
            <TagIcon aria-hidden size={14} /> Tags…
          </button>
        </TagPicker>
        <button type="button" className="button max-md:hidden" onClick={() => void retry()} title="Read the files again">
          <RotateCw aria-hidden size={14} /> Read again
        </button>
        <button type="button" className="button max-md:hidden" onClick={() => void downloadAll()}>
          <Download aria-hidden size={14} /> Download
        </button>
        <button type="button" className="button text-failed" onClick={() => setDeleting(true)}>
          <Trash2 aria-hidden size={14} /> Delete…
        </button>
        <button type="button" className="button button-quiet button-icon" onClick={selection.clear} aria-label="Clear the selection">
          <X aria-hidden size={16} />
        </button>
      </fieldset>
      <ConfirmDialog
        open={isDeleting}
        onOpenChange={setDeleting}
        title={`Delete ${plural(count, "document")}?`}
        action={`Delete ${plural(count, "document")}`}
        onConfirm={() => void remove()}
        {...(count > TYPED_ABOVE && { typed: String(count) })}
      >
        {count === 1 ? `${documents[0]?.document_name ?? "It"} leaves` : "They leave"} every knowledge base at once. This
        cannot be undone.
      </ConfirmDialog>
      <FailedDialog failed={failed} onClose={() => setFailed([])} />
    </div>
  );
}
