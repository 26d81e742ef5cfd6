"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { useMemo } from "react";

import { sourceKeys } from "@/api/keys";
import { Button, ButtonLink } from "@/components/ui/button";
import { Form, FormFailure, showFailure, useSchemaForm } from "@/components/ui/form";

import { createSource, type SourceKind } from "./queries";
import { SourceFields } from "./source-fields";
import { bodyOf, kindFields, renamedFields, sourceSchema, type SourceValues, valuesOf } from "./source-values";

/** Adds a source of a kind, then tests its connection on the source's page. */
export function CreateForm({ kind }: { kind: SourceKind }) {
  const router = useRouter();
  const client = useQueryClient();
  const fields = useMemo(() => kindFields(kind), [kind]);
  const form = useSchemaForm(sourceSchema(fields), valuesOf(fields));
  const create = useMutation({
    mutationFn: (values: SourceValues) => createSource({ kind: kind.kind, ...bodyOf(fields, values) }),
    onSuccess: async (made) => {
      await client.invalidateQueries({ queryKey: sourceKeys.all });
      router.push(`/sources/view/?id=${made.source_id}&test=1`);
    },
    onError: (error) => showFailure(form, error, renamedFields(error)),
  });
  return (
    <Form form={form} className="flex max-w-[640px] flex-col gap-5 p-4" onSubmit={(values) => create.mutate(values)}>
      <p className="text-text-2">{kind.description}</p>
      <FormFailure control={form.control} note="Your entries are still here." />
      <SourceFields form={form} kind={fields} hasStored={false} isFresh />
      <div className="flex flex-wrap items-center gap-2">
        <Button type="submit" variant="primary" disabled={create.isPending}>
          {create.isPending ? "Adding…" : "Add source and test"}
        </Button>
        <ButtonLink href="/sources/">Cancel</ButtonLink>
      </div>
    </Form>
  );
}
