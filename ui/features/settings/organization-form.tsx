"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { type UseFormReturn, useWatch } from "react-hook-form";
import { toast } from "sonner";

import { answered, api, organizationPath } from "@/api/client";
import { organizationKeys } from "@/api/keys";
import { ConfirmDialog } from "@/components/ui/dialog";
import { Form, FormFailure, SelectField, showFailure, TextField, useSchemaForm } from "@/components/ui/form";
import { ScrollArea } from "@/components/scroll-area";
import { Banner } from "@/components/state";
import { Time } from "@/components/time";
import { UnsavedBar } from "@/components/unsaved-bar";
import { plural } from "@/lib/format";
import { usePermissions } from "@/state/permissions";

import { FlawFields } from "./flaw-fields";
import { LanguageFields } from "./language-fields";
import { LimitFields } from "./limit-fields";
import { OrganizationQuotas } from "./organization-quotas";
import { type Changes, changesOf, deletesSooner, type OrganizationValues, schemaFor, type Stored, valuesOf } from "./organization-values";
import { VisionFields } from "./vision-fields";

const FORM = "organization-form";

/** The rarest to fail last: what was saved before a refusal stays saved, and the form shows what is left. */
async function put(changes: Changes): Promise<void> {
  const params = { path: organizationPath() };
  if (changes.settings) await answered(api.PUT("/v0/orgs/{organization_id}/settings", { params, body: changes.settings }));
  if (changes.retention) await answered(api.PUT("/v0/orgs/{organization_id}/retention", { params, body: changes.retention }));
  if (changes.organization) await answered(api.PUT("/v0/orgs/{organization_id}", { params, body: changes.organization }));
}

export function OrganizationForm({ stored }: { stored: Stored }) {
  const client = useQueryClient();
  const { may, whoMay } = usePermissions();
  const mayChange = may("update_organization");
  const [isAsking, setAsking] = useState(false);
  const form = useSchemaForm(schemaFor(stored.settings.server.rate_limits), valuesOf(stored));
  const { control } = form;
  const changes = useWatch({ control, compute: (values) => changesOf(values, stored) });
  const cacheScope = useWatch({ control, name: "cache_scope" });
  const isChanged = Object.keys(changes).length > 0;
  useFollowing(form, stored);
  const save = useMutation({
    mutationFn: () => put(changes),
    onSuccess: () => toast("Saved"),
    onError: (error) => showFailure(form, error),
    onSettled: async (_, error) => {
      await Promise.all(
        [organizationKeys.one, organizationKeys.retention, organizationKeys.settings].map((queryKey) =>
          client.invalidateQueries({ queryKey }),
        ),
      );
      if (!error) form.reset(form.getValues());
    },
  });
  const { settings, organization } = stored;
  return (
    <>
      <ScrollArea label="Organization" className="p-4">
        <Form
          form={form}
          id={FORM}
          onSubmit={() => {
            if (deletesSooner(changes, stored)) setAsking(true);
            else save.mutate();
          }}
        >
          <fieldset disabled={!mayChange || save.isPending} className="flex max-w-[640px] flex-col gap-5">
            {!mayChange && <Banner tone="working">You can view these settings. {whoMay("update_organization")} can change them.</Banner>}
            <FormFailure control={control} note="Your changes are still here." />
            <TextField control={control} name="name" label="Name" required maxLength={100} />
            <TextField
              control={control}
              name="document_days"
              label="Keep documents for (days)"
              hint="Documents are deleted this many days after upload. Leave empty to keep them."
              className="max-w-[160px]"
              type="number"
              min={1}
              max={36500}
            />
            <SelectField
              control={control}
              name="cache_scope"
              label="Embedding cache"
              hint={
                cacheScope === "global"
                  ? "Texts already embedded by another organization cost nothing. Others could tell from price or time whether you have a certain text."
                  : "Nothing is shared. This organization pays once for each text."
              }
            >
              {(organization.may_share_cache || cacheScope === "global") && (
                <option value="global">Shared with other organizations on this server</option>
              )}
              <option value="organization">This organization only</option>
            </SelectField>
            <LanguageFields control={control} available={settings.available_ocr_languages} servers={settings.server.ocr_languages} />
            <VisionFields control={control} />
            <FlawFields control={control} />
            <section aria-labelledby="rate-limits" className="flex flex-col gap-3">
              <h2 id="rate-limits" className="text-lg font-semibold">
                Rate limits
              </h2>
              <p className="text-text-2">
                Limits on calls and tokens apply to each model, limits on documents to each knowledge base. Work over a limit waits. Leave
                empty for the server's limits.
              </p>
              <LimitFields control={control} server={settings.server.rate_limits} />
            </section>
          </fieldset>
        </Form>
        <div className="mt-6 border-t border-line pt-4">
          <OrganizationQuotas />
        </div>
        <p className="mt-6 text-text-3">
          Organization <span className="font-mono text-xs break-all">{organization.organization_id}</span>, since{" "}
          <Time at={organization.created_at} />
        </p>
      </ScrollArea>
      {isChanged && <UnsavedBar form={FORM} isSaving={save.isPending} onDiscard={() => form.reset(valuesOf(stored))} />}
      <ConfirmDialog
        open={isAsking}
        onOpenChange={setAsking}
        title={`Keep documents for ${plural(changes.retention?.document_days ?? 0, "day")} only?`}
        action="Delete older documents"
        onConfirm={() => save.mutate()}
      >
        Older documents are deleted within minutes, also from all knowledge bases. This cannot be undone.
      </ConfirmDialog>
    </>
  );
}

/** Shows what others save meanwhile, until something is edited here. */
function useFollowing(form: UseFormReturn<OrganizationValues>, stored: Stored) {
  const { isDirty } = form.formState;
  const current = JSON.stringify(valuesOf(stored));
  useEffect(() => {
    if (!isDirty) form.reset(JSON.parse(current) as OrganizationValues);
  }, [form, isDirty, current]);
}
