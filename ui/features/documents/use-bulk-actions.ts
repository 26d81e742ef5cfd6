import { useState } from "react";
import { toast } from "sonner";

import type { Document, Tag } from "@/api/queries";
import { tellFailure } from "@/components/feedback";
import type { Ticked } from "@/components/tag-picker";
import { formatCount, plural } from "@/lib/format";
import { UNDO_MILLISECONDS } from "@/lib/undo";

import { deleteDocument, download, extractAgain, forEach } from "./actions";
import { type BulkOutcome, type Change, changeMany, type MetadataChanges, type Which } from "./bulk-changes";
import type { Failed } from "./failed-dialog";
import { allMatching, type DocumentFilter } from "./queries";
import type { Selection } from "./use-selection";

/** What can be done to the selected documents, with how far it is and what it came to. */
export function useBulkActions(selection: Selection, filter: DocumentFilter, onChanged: () => void) {
  const [busy, setBusy] = useState<string | null>(null);
  const [failed, setFailed] = useState<Failed[]>([]);
  /** Of a selection by filter nobody has read the tags: what was done to it is remembered. */
  const [done, setDone] = useState<ReadonlyMap<string, boolean>>(new Map());
  const { count } = selection;

  const which = (): Which =>
    selection.leftOut === null ? { ids: [...selection.documents.keys()] } : { filter, leftOut: [...selection.leftOut] };

  const tell = (changed: number, missed: Failed[], undo?: () => void, did = "changed") => {
    const words = `${formatCount(changed)} ${did}${missed.length > 0 ? `, ${formatCount(missed.length)} failed` : ""}`;
    const show = missed.length > 0 ? { label: "Show", onClick: () => setFailed(missed) } : null;
    const back = undo && changed > 0 ? { label: "Undo", onClick: undo } : null;
    toast(words, {
      duration: UNDO_MILLISECONDS,
      classNames: { cancelButton: "button button-small shrink-0" },
      ...((back ?? show) && { action: back ?? show }),
      ...(back && show && { cancel: show }),
    });
  };

  const change = async (doing: string, wanted: Change, on: Which, total: number): Promise<BulkOutcome> => {
    setBusy(`${doing} ${formatCount(total)}…`);
    const outcome = await changeMany(on, wanted, (looked) => setBusy(`${doing} ${formatCount(looked)} of ${formatCount(total)}`));
    setBusy(null);
    onChanged();
    if (outcome.error) tellFailure(`It stopped after ${plural(outcome.changedIds.length, "document")}`, outcome.error);
    return outcome;
  };

  const tag = async (changed: Tag, isOn: boolean) => {
    const apply = (wanted: boolean, on: Which, total: number) =>
      change(
        wanted ? "Tagging" : "Untagging",
        wanted ? { add_tag_ids: [changed.tag_id] } : { remove_tag_ids: [changed.tag_id] },
        on,
        total,
      );
    const remember = (ids: readonly string[], wanted: boolean) => {
      setDone((now) => new Map(now).set(changed.tag_id, wanted));
      if (selection.leftOut === null) selection.set(retagged(selection.documents, ids, changed.tag_id, wanted), true);
    };
    const outcome = await apply(isOn, which(), count);
    remember(outcome.changedIds, isOn);
    tell(
      outcome.changedIds.length,
      refusedOf(outcome),
      () =>
        void apply(!isOn, { ids: outcome.changedIds }, outcome.changedIds.length).then((undone) => {
          remember(undone.changedIds, !isOn);
          tell(undone.changedIds.length, refusedOf(undone));
        }),
    );
  };

  const describe = async (metadata: MetadataChanges) => {
    const outcome = await change("Changing", { metadata }, which(), count);
    tell(outcome.changedIds.length, refusedOf(outcome));
  };

  /** What the API takes one by one. */
  const each = async (doing: string, did: string, act: (document: Document) => Promise<unknown>) => {
    let documents = [...selection.documents.values()];
    try {
      if (selection.leftOut !== null) {
        setBusy("Finding them…");
        const { leftOut } = selection;
        documents = (await allMatching(filter)).filter((document) => !leftOut.has(document.document_id));
      }
    } catch (error) {
      setBusy(null);
      tellFailure("The documents could not be found", error);
      return [];
    }
    const outcome = await forEach(documents, act, (finished) =>
      setBusy(`${doing} ${formatCount(finished)} of ${formatCount(documents.length)}`),
    );
    setBusy(null);
    onChanged();
    tell(
      outcome.done.length,
      outcome.failed.map(({ item, error }) => ({
        id: item.document_id,
        name: item.document_name,
        reason: error instanceof Error ? error.message : "An unexpected error.",
      })),
      undefined,
      did,
    );
    return outcome.done;
  };

  return {
    busy,
    failed,
    forgetFailed: () => setFailed([]),
    tag,
    describe,
    retry: () => each("Extracting again", "queued to extract again", (document) => extractAgain(document.document_id)),
    downloadAll: () => each("Downloading", "downloaded", download),
    remove: async () => {
      const gone = await each("Deleting", "deleted", (document) => deleteDocument(document.document_id));
      if (selection.leftOut === null) selection.set(gone, false);
      else selection.clear();
    },
    ticked: (tagId: string): Ticked => {
      if (selection.leftOut !== null)
        return done.get(tagId) === true || (filter.tagIds.includes(tagId) && done.get(tagId) !== false) ? "all" : "none";
      const having = [...selection.documents.values()].filter((document) => document.tag_ids.includes(tagId)).length;
      return having === 0 ? "none" : having === count ? "all" : "some";
    },
  };
}

function refusedOf({ refused }: BulkOutcome): Failed[] {
  return refused.map((item) => ({ id: item.document_id, name: item.document_name, reason: item.detail }));
}

/** The selection holds rows as they were: their tags follow what was done. */
function retagged(documents: ReadonlyMap<string, Document>, ids: readonly string[], tagId: string, isOn: boolean): Document[] {
  return ids.flatMap((id) => {
    const document = documents.get(id);
    if (!document) return [];
    const others = document.tag_ids.filter((other) => other !== tagId);
    return { ...document, tag_ids: isOn ? [...others, tagId] : others };
  });
}
