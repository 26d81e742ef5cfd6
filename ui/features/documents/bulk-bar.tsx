"use client";

import { Download, PencilLine, RotateCw, Tag as TagIcon, Trash2, X } from "lucide-react";
import dynamic from "next/dynamic";
import { useState } from "react";

import { ConfirmDialog } from "@/components/ui/dialog";
import { TagPicker } from "@/components/tag-picker";
import { Button } from "@/components/ui/button";
import { formatCount, plural } from "@/lib/format";
import { useMay } from "@/state/permissions";
import { type Shortcut, useShortcuts } from "@/state/shortcuts";

import { FailedDialog } from "./failed-dialog";
import { type DocumentFilter, MOST_SELECTED } from "./queries";
import { useBulkActions } from "./use-bulk-actions";
import type { Selection } from "./use-selection";

const MetadataDialog = dynamic(() => import("./metadata-dialog").then((module) => module.MetadataDialog), { ssr: false });

/** More deletions than this are confirmed by typing their number. */
const TYPED_ABOVE = 100;

/** What can be done to the selected documents; it takes the place of the filters. */
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
  const bulk = useBulkActions(selection, filter, onChanged);
  const mayChange = useMay("change_documents");
  const [isDeleting, setDeleting] = useState(false);
  const [isDescribing, setDescribing] = useState(false);
  const [areTagsOpen, setTagsOpen] = useState(false);
  const { count } = selection;
  // What the API takes one by one is not begun for so many.
  const isTooMany = count > MOST_SELECTED;
  const oneByOne = { disabled: isTooMany, ...(isTooMany && { title: `Up to ${formatCount(MOST_SELECTED)} at once: narrow the filter` }) };
  const changes: Shortcut[] = [
    { keys: "t", label: "Tags of the selection", group: "List", run: () => setTagsOpen(true) },
    { keys: "r", label: "Extract the text of the selection again", group: "List", run: () => !isTooMany && void bulk.retry() },
    { keys: "Delete", label: "Delete the selection", group: "List", run: () => !isTooMany && setDeleting(true) },
  ];
  useShortcuts(mayChange ? changes : []);
  const first = [...selection.documents.values()][0];
  return (
    <div className="bar bg-selected" role="region" aria-label="Selection">
      <strong className="font-semibold" role="status">
        {formatCount(count)} selected
      </strong>
      {bulk.busy ? (
        <span role="status" className="text-text-2">
          {bulk.busy}
        </span>
      ) : (
        count < matching && (
          <button type="button" className="text-link hover:underline" onClick={selection.selectMatching}>
            Select all {formatCount(matching)} matching
          </button>
        )
      )}
      <span className="flex-1" />
      <fieldset disabled={bulk.busy !== null} className="contents">
        {mayChange && (
          <>
            <TagPicker
              ticked={bulk.ticked}
              onToggle={(changed, isOn) => void bulk.tag(changed, isOn)}
              align="end"
              open={areTagsOpen}
              onOpenChange={setTagsOpen}
            >
              <Button>
                <TagIcon aria-hidden size={14} /> Tags…
              </Button>
            </TagPicker>
            <Button className="max-md:hidden" onClick={() => setDescribing(true)}>
              <PencilLine aria-hidden size={14} /> Metadata…
            </Button>
            <Button className="max-lg:hidden" onClick={() => void bulk.retry()} title="Extract the text of the files again" {...oneByOne}>
              <RotateCw aria-hidden size={14} /> Extract again
            </Button>
          </>
        )}
        <Button className="max-lg:hidden" onClick={() => void bulk.downloadAll()} {...oneByOne}>
          <Download aria-hidden size={14} /> Download
        </Button>
        {mayChange && (
          <Button className="text-failed" onClick={() => setDeleting(true)} {...oneByOne}>
            <Trash2 aria-hidden size={14} /> Delete…
          </Button>
        )}
        <Button variant="quiet" isIcon onClick={selection.clear} aria-label="Clear the selection">
          <X aria-hidden size={16} />
        </Button>
      </fieldset>
      <ConfirmDialog
        open={isDeleting}
        onOpenChange={setDeleting}
        title={`Delete ${plural(count, "document")}?`}
        action={`Delete ${plural(count, "document")}`}
        onConfirm={() => void bulk.remove()}
        {...(count > TYPED_ABOVE && { typed: String(count) })}
      >
        {count === 1 && first ? `${first.document_name} leaves` : "They leave"} every knowledge base at once. Documents found in archives,
        mailboxes and e-mails are deleted with them. This cannot be undone.
      </ConfirmDialog>
      {isDescribing && (
        <MetadataDialog
          title={`Metadata of ${plural(count, "document")}`}
          description="Sets these values on each document. Existing values of the same fields are replaced; other fields stay."
          present={NO_METADATA}
          action={`Set on ${plural(count, "document")}`}
          error={null}
          isBusy={false}
          onClose={() => setDescribing(false)}
          onSave={(changes) => {
            setDescribing(false);
            void bulk.describe(changes);
          }}
        />
      )}
      <FailedDialog failed={bulk.failed} onClose={bulk.forgetFailed} />
    </div>
  );
}

const NO_METADATA = {};
