"use client";

import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";

import type { MetadataChanges } from "./bulk-changes";
import { asDeclared, type FieldDraft, metadataChanges, typed, typeOf } from "./metadata";
import { DeclaredNames, MetadataField } from "./metadata-fields";
import { type Declared, declaredFieldsQuery } from "./queries";

const NONE: Declared = {};
const NEW: FieldDraft = { name: "", type: "string", text: "", before: null };

/** Metadata of one document (`present`) as a whole, or values to set on many. It is mounted when it is opened. */
export function MetadataDialog({
  title,
  description,
  present,
  action,
  error,
  isBusy,
  onSave,
  onClose,
}: {
  title: string;
  description: string;
  present: Readonly<Record<string, unknown>>;
  action: string;
  error: string | null;
  isBusy: boolean;
  onSave: (changes: MetadataChanges) => void;
  onClose: () => void;
}) {
  const { data: declared = NONE, isPending } = useQuery(declaredFieldsQuery());
  const [edited, setEdited] = useState<FieldDraft[] | null>(null);
  const [problems, setProblems] = useState<ReadonlyMap<number, string>>(new Map());
  // What is declared may become known while a name is being typed.
  const drafts = edited?.map((draft) => asDeclared(draft, declared)) ?? draftsOf(present, declared);
  const put = (at: number, draft: FieldDraft | null) => {
    setProblems(new Map());
    setEdited(drafts.flatMap((other, place) => (place === at ? (draft ?? []) : other)));
  };
  const save = () => {
    const { changes, problems: found } = metadataChanges(present, drafts);
    setProblems(found);
    if (found.size > 0) return;
    if (Object.keys(changes).length === 0) onClose();
    else onSave(changes);
  };
  return (
    <Dialog
      open
      onOpenChange={(isOpen) => !isOpen && onClose()}
      title={title}
      description={description}
      wide
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form="metadata-form" variant="primary" disabled={isBusy || isPending}>
            {action}
          </Button>
        </>
      }
    >
      <form
        id="metadata-form"
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <DeclaredNames declared={declared} />
        {drafts.map((draft, at) => (
          <MetadataField
            // Rows are told apart by their place: names are being typed.
            key={at}
            draft={draft}
            declared={declared}
            problem={problems.get(at)}
            onChange={(next) => put(at, next)}
            onRemove={() => put(at, null)}
          />
        ))}
        <Button size="small" className="mt-3" onClick={() => setEdited([...drafts, NEW])}>
          <Plus aria-hidden size={13} /> Add a field
        </Button>
        {error && (
          <p role="alert" className="mt-3 break-words text-failed">
            {error}
          </p>
        )}
      </form>
    </Dialog>
  );
}

function draftsOf(present: Readonly<Record<string, unknown>>, declared: Declared): FieldDraft[] {
  const drafts = Object.entries(present).map(([name, value]): FieldDraft => {
    const type = typeOf(value, declared[name]);
    const text = typed(value, type);
    return { name, type, text, before: text };
  });
  return drafts.length > 0 ? drafts : [NEW];
}
