"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import * as z from "zod/mini";

import { documentKeys } from "@/api/keys";
import type { DocumentDetail } from "@/api/queries";
import { May } from "@/components/may";
import { Button } from "@/components/ui/button";
import { Form, FormFailure, showFailure, TextField, useSchemaForm } from "@/components/ui/form";
import { required } from "@/lib/checks";

import { givePassword } from "../actions";

const SCHEMA = z.object({ password: required("Enter the file's password.") });
const EMPTY = { password: "" };

/** Asks for the password of an encrypted file, and extracts the text with it. */
export function FilePassword({ document, title = "This file needs a password" }: { document: DocumentDetail; title?: string }) {
  const client = useQueryClient();
  const form = useSchemaForm(SCHEMA, EMPTY);
  const give = useMutation({
    mutationFn: ({ password }: z.infer<typeof SCHEMA>) => givePassword(document.document_id, password),
    onSuccess: () => {
      form.reset(EMPTY);
      void client.invalidateQueries({ queryKey: documentKeys.all });
    },
    onError: (error) => showFailure(form, error),
  });
  return (
    <May to="update_document_password">
      <Form form={form} className="flex max-w-[360px] flex-col gap-3" onSubmit={(values) => give.mutate(values)}>
        <h2 className="font-semibold">{title}</h2>
        <FormFailure control={form.control} />
        <TextField
          control={form.control}
          name="password"
          label="Password of the file"
          hint="Stored encrypted and never shown"
          type="password"
          required
          autoComplete="off"
        />
        <Button type="submit" variant="primary" className="self-start" disabled={give.isPending}>
          {give.isPending ? "Opening…" : "Open file"}
        </Button>
      </Form>
    </May>
  );
}
