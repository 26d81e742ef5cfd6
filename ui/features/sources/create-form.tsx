"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { PlugZap } from "lucide-react";
import { useRouter } from "next/navigation";
import { useMemo, useState } from "react";

import { ApiError } from "@/api/errors";
import { sourceKeys } from "@/api/keys";
import { Button, ButtonLink } from "@/components/ui/button";
import { Form, FormFailure, showFailure, useSchemaForm } from "@/components/ui/form";

import { createSource, isPushOnly, type SourceBody, type SourceKind, testNewSource } from "./queries";
import { SourceFields } from "./source-fields";
import { bodyOf, kindFields, renamedFields, sourceSchema, type SourceValues, valuesOf } from "./source-values";
import { TestDialog } from "./test-dialog";

/** Adds a source of a kind; its settings can be tested before. */
export function CreateForm({ kind }: { kind: SourceKind }) {
  const router = useRouter();
  const client = useQueryClient();
  const fields = useMemo(() => kindFields(kind), [kind]);
  const form = useSchemaForm(sourceSchema(fields), valuesOf(fields));
  const [tested, setTested] = useState<SourceBody | null>(null);
  const wanted = (values: SourceValues): SourceBody => ({ kind: kind.kind, ...bodyOf(fields, values) });
  const test = useMutation({
    mutationFn: testNewSource,
    onError: (error) => {
      // What is wrong with a field is shown there.
      if (!(error instanceof ApiError && error.fields.length > 0)) return;
      setTested(null);
      showFailure(form, error, renamedFields(error));
    },
  });
  const create = useMutation({
    mutationFn: createSource,
    onSuccess: async (made, body) => {
      await client.invalidateQueries({ queryKey: sourceKeys.all });
      const isKnownToAnswer = test.data?.is_ok && JSON.stringify(test.variables) === JSON.stringify(body);
      const next = isPushOnly(kind) ? "&tab=settings" : isKnownToAnswer ? "" : "&test=1";
      router.push(`/sources/view/?id=${made.source_id}${next}`);
    },
    onError: (error) => showFailure(form, error, renamedFields(error)),
  });
  const runTest = (body: SourceBody) => {
    setTested(body);
    test.mutate(body);
  };
  return (
    <Form form={form} className="flex max-w-[640px] flex-col gap-5 p-4" onSubmit={(values) => create.mutate(wanted(values))}>
      <p className="text-text-2">{kind.description}</p>
      <FormFailure control={form.control} note="Your entries are still here." />
      <SourceFields form={form} kind={fields} hasStored={false} isFresh />
      <div className="flex flex-wrap items-center gap-2">
        <Button type="submit" variant="primary" disabled={create.isPending}>
          {create.isPending ? "Adding…" : "Add source"}
        </Button>
        {!isPushOnly(kind) && (
          <Button onClick={() => void form.handleSubmit((values) => runTest(wanted(values)))()}>
            <PlugZap aria-hidden size={14} /> Test connection
          </Button>
        )}
        <ButtonLink href="/sources/" variant="quiet">
          Cancel
        </ButtonLink>
      </div>
      {tested !== null && (
        <TestDialog
          title="Test of the new source"
          test={{ data: test.data, error: test.error, isTesting: test.isPending }}
          onAgain={() => test.mutate(tested)}
          onClose={() => setTested(null)}
          change={<Button onClick={() => setTested(null)}>Change settings</Button>}
        />
      )}
    </Form>
  );
}
