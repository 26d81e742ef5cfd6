"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { toast } from "sonner";

import { sourceKeys } from "@/api/keys";
import { ErrorState, SkeletonBlock } from "@/components/feedback";
import { Banner } from "@/components/state";
import { Button } from "@/components/ui/button";
import { Form, FormFailure, showFailure, useSchemaForm } from "@/components/ui/form";
import { usePermissions } from "@/state/permissions";

import { InboundSection } from "./inbound-section";
import { changeSource, type Source, type SourceKind, sourceKindsQuery } from "./queries";
import { SourceFields } from "./source-fields";
import { bodyOf, kindFields, renamedFields, sourceSchema, type SourceValues, valuesOf } from "./source-values";

/** The settings of a source, to change by those who may. */
export function SettingsTab({ source }: { source: Source }) {
  const kinds = useQuery(sourceKindsQuery());
  const { isKnown } = usePermissions();
  const kind = kinds.data?.kinds.find((item) => item.kind === source.kind);
  return (
    <div className="min-h-0 flex-1 overflow-auto">
      {kinds.error && !kinds.data ? (
        <ErrorState error={kinds.error} retry={() => void kinds.refetch()} />
      ) : !kinds.data || !isKnown ? (
        <SkeletonBlock lines={10} />
      ) : (
        <>
          {kind ? (
            <EditForm source={source} kind={kind} />
          ) : (
            <div className="max-w-[640px] p-4">
              <Banner tone="warning">The kind “{source.kind}” is not installed on this server, so its settings cannot be shown.</Banner>
            </div>
          )}
          <Identity source={source} kind={kind} />
          {/* Last: what comes later moves nothing. */}
          <InboundSection source={source} />
        </>
      )}
    </div>
  );
}

function EditForm({ source, kind }: { source: Source; kind: SourceKind }) {
  const client = useQueryClient();
  const { may, whoMay } = usePermissions();
  const mayChange = may("update_source");
  const fields = useMemo(() => kindFields(kind), [kind]);
  const form = useSchemaForm(sourceSchema(fields), valuesOf(fields, source));
  const { isDirty } = form.formState;
  const save = useMutation({
    mutationFn: (values: SourceValues) => changeSource(source.source_id, bodyOf(fields, values)),
    onSuccess: async (saved) => {
      form.reset(valuesOf(fields, saved));
      toast("Saved. The next run brings the documents up to date.");
      await client.invalidateQueries({ queryKey: sourceKeys.all });
    },
    onError: (error) => showFailure(form, error, renamedFields(error)),
  });
  return (
    <Form form={form} className="flex max-w-[640px] flex-col gap-5 p-4" onSubmit={(values) => save.mutate(values)}>
      {!mayChange && <Banner tone="working">You can view these settings. {whoMay("update_source")} can change them.</Banner>}
      <FormFailure control={form.control} note="Your changes are still here." />
      <fieldset disabled={!mayChange} className="contents">
        <SourceFields form={form} kind={fields} hasStored={source.has_credentials} />
      </fieldset>
      {mayChange && (
        <div className="flex items-center gap-2">
          <Button type="submit" variant="primary" disabled={!isDirty || save.isPending}>
            {save.isPending ? "Saving…" : "Save"}
          </Button>
          {isDirty && <span className="text-text-2">Not saved yet</span>}
        </div>
      )}
    </Form>
  );
}

function Identity({ source, kind }: { source: Source; kind: SourceKind | undefined }) {
  return (
    <section className="max-w-[640px] border-t border-line p-4">
      <h2 className="mb-2 text-lg font-semibold">Fixed after creation</h2>
      <dl className="grid grid-cols-[160px_minmax(0,1fr)] gap-x-4 gap-y-1.5">
        <dt className="text-text-2">Kind</dt>
        <dd>{kind?.title ?? source.kind}</dd>
        <dt className="text-text-2">Source of identities</dt>
        <dd className="font-mono text-xs break-all">{source.external_source}</dd>
        <dt className="text-text-2">Id</dt>
        <dd className="font-mono text-xs break-all">{source.source_id}</dd>
      </dl>
    </section>
  );
}
