"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import * as z from "zod/mini";

import { documentKeys } from "@/api/keys";
import type { DocumentDetail } from "@/api/queries";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { Form, FormFailure, showFailure, TextField, useSchemaForm } from "@/components/ui/form";

import { changeSourceUrl } from "../actions";

const SCHEMA = z.object({ source_url: z.string() });

/** Sets or removes the web address of a document's original. */
export function SourceUrlDialog({ document, onClose }: { document: DocumentDetail; onClose: () => void }) {
  const client = useQueryClient();
  const form = useSchemaForm(SCHEMA, { source_url: document.source_url ?? "" });
  const save = useMutation({
    mutationFn: ({ source_url }: z.infer<typeof SCHEMA>) => changeSourceUrl(document.document_id, source_url.trim()),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: documentKeys.all });
      onClose();
    },
    onError: (error) => showFailure(form, error),
  });
  return (
    <Dialog
      open
      onOpenChange={(isOpen) => !isOpen && onClose()}
      title="Web address of the original"
      description="Results and citations link to it. Leave it empty to remove the link."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form="source-url-form" variant="primary" disabled={save.isPending}>
            {save.isPending ? "Saving…" : "Save address"}
          </Button>
        </>
      }
    >
      <Form form={form} id="source-url-form" onSubmit={(values) => save.mutate(values)}>
        <FormFailure control={form.control} />
        <TextField
          control={form.control}
          name="source_url"
          label="Address"
          hint="Such as https://wiki.example.com/fees"
          inputMode="url"
          maxLength={2000}
          autoFocus
        />
      </Form>
    </Dialog>
  );
}
