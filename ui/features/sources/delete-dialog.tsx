"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { useState } from "react";
import { toast } from "sonner";

import { sourceKeys } from "@/api/keys";
import { tellFailure } from "@/components/feedback";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { Field, Input } from "@/components/ui/field";

import { deleteSource, type Source } from "./queries";

const CHOICES = [
  { value: "keep", label: "Keep its documents", note: "They stay as they are, and no run updates them any more." },
  { value: "delete", label: "Delete its documents", note: "They leave all knowledge bases. This cannot be undone." },
] as const;

/** A dialog that asks whether the documents stay; deleting them needs the typed name. */
export function DeleteDialog({
  source,
  parent,
  onClose,
}: {
  source: Source;
  parent: { href: string; onFollow: () => void };
  onClose: () => void;
}) {
  const router = useRouter();
  const client = useQueryClient();
  const [choice, setChoice] = useState<"keep" | "delete">("keep");
  const [typed, setTyped] = useState("");
  const isAllowed = choice === "keep" || typed.trim() === source.name;
  const remove = useMutation({
    mutationFn: () => deleteSource(source.source_id, choice),
    onSuccess: async () => {
      toast(choice === "keep" ? `${source.name} deleted. Its documents stay.` : `${source.name} deleted. Its documents are being deleted.`);
      parent.onFollow();
      router.replace(parent.href);
      client.removeQueries({ queryKey: sourceKeys.one(source.source_id) });
      await client.invalidateQueries({ queryKey: sourceKeys.lists });
    },
    onError: (error) => tellFailure("The source was not deleted", error),
  });
  return (
    <Dialog
      open
      onOpenChange={(isOpen) => !isOpen && onClose()}
      title={`Delete ${source.name}?`}
      description="The source is deleted with its settings, credentials and runs. A run in progress is cancelled."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form="delete-source" variant="danger" disabled={!isAllowed || remove.isPending}>
            {choice === "keep" ? "Delete source" : "Delete source and documents"}
          </Button>
        </>
      }
    >
      <form
        id="delete-source"
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          if (isAllowed) remove.mutate();
        }}
      >
        <fieldset className="flex flex-col gap-2">
          <legend className="sr-only">Its documents</legend>
          {CHOICES.map(({ value, label, note }) => (
            <label key={value} className="grid grid-cols-[auto_minmax(0,1fr)] items-center gap-x-2">
              <input type="radio" name="documents" checked={choice === value} onChange={() => setChoice(value)} />
              <span className="font-medium">{label}</span>
              <span className="col-start-2 text-text-2">{note}</span>
            </label>
          ))}
        </fieldset>
        {choice === "delete" && (
          <Field
            isQuiet
            label={
              <>
                Type <strong className="font-semibold text-text">{source.name}</strong> to confirm
              </>
            }
          >
            <Input value={typed} onChange={(event) => setTyped(event.target.value)} autoComplete="off" />
          </Field>
        )}
      </form>
    </Dialog>
  );
}
