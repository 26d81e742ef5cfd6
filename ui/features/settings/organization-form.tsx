"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { toast } from "sonner";

import { answered, api, organizationPath } from "@/api/client";
import { organizationKeys } from "@/api/keys";
import { ConfirmDialog } from "@/components/ui/dialog";
import { Field, formError, Input } from "@/components/ui/field";
import { ScrollArea } from "@/components/scroll-area";
import { Banner } from "@/components/state";
import { Time } from "@/components/time";
import { Select } from "@/components/ui/select";
import { UnsavedBar } from "@/components/unsaved-bar";
import { plural } from "@/lib/format";
import { usePermissions } from "@/state/permissions";

import { LanguageFields } from "./language-fields";
import { LimitFields } from "./limit-fields";
import { type Changes, changesOf, deletesSooner, draftOf, type OrganizationDraft, type Stored } from "./organization-draft";
import { OrganizationQuotas } from "./organization-quotas";

const FORM = "organization-form";
const LIMITS = ["requests_per_minute", "tokens_per_minute", "documents_per_minute"].map((name) => `rate_limits.${name}`);

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
  const [edited, setEdited] = useState<OrganizationDraft | null>(null);
  const [isAsking, setAsking] = useState(false);
  const draft = edited ?? draftOf(stored);
  const changes = changesOf(draft, stored);
  const isChanged = Object.keys(changes).length > 0;
  const change = (part: Partial<OrganizationDraft>) => setEdited({ ...draft, ...part });
  const save = useMutation({
    mutationFn: () => put(changes),
    onSuccess: () => toast("Saved"),
    onSettled: async (_, error) => {
      await Promise.all(
        [organizationKeys.one, organizationKeys.retention, organizationKeys.settings].map((queryKey) =>
          client.invalidateQueries({ queryKey }),
        ),
      );
      if (!error) setEdited(null);
    },
  });
  const { settings, organization } = stored;
  const general = formError(save.error, ["name", "document_days", "ocr_languages", ...LIMITS]);
  return (
    <>
      <ScrollArea label="Organization" className="p-4">
        <form
          id={FORM}
          onSubmit={(event) => {
            event.preventDefault();
            if (deletesSooner(changes, stored)) setAsking(true);
            else save.mutate();
          }}
        >
          <fieldset disabled={!mayChange || save.isPending} className="flex max-w-[640px] flex-col gap-5">
            {!mayChange && <Banner tone="working">You can view these settings. {whoMay("update_organization")} can change them.</Banner>}
            {general && <Banner tone="failed">{general} Your changes are still here.</Banner>}
            <Field label="Name" error={save.error} field="name">
              <Input required maxLength={100} value={draft.name} onChange={(event) => change({ name: event.target.value })} />
            </Field>
            <Field
              label="Keep documents for (days)"
              hint="Documents are deleted this many days after upload. Leave empty to keep them."
              error={save.error}
              field="document_days"
            >
              <Input
                className="max-w-[160px]"
                type="number"
                min={1}
                max={36500}
                value={draft.retentionDays}
                onChange={(event) => change({ retentionDays: event.target.value })}
              />
            </Field>
            <Field
              label="Embedding cache"
              hint={
                draft.cacheScope === "global"
                  ? "Texts already embedded by another organization cost nothing. Others could tell from price or time whether you have a certain text."
                  : "Nothing is shared. This organization pays once for each text."
              }
            >
              <Select
                value={draft.cacheScope}
                onChange={(event) => change({ cacheScope: event.target.value === "organization" ? "organization" : "global" })}
              >
                {(organization.may_share_cache || draft.cacheScope === "global") && (
                  <option value="global">Shared with other organizations on this server</option>
                )}
                <option value="organization">This organization only</option>
              </Select>
            </Field>
            <LanguageFields
              chosen={draft.languages}
              available={settings.available_ocr_languages}
              servers={settings.server.ocr_languages}
              error={save.error}
              onChange={(languages) => change({ languages })}
            />
            <section aria-labelledby="rate-limits" className="flex flex-col gap-3">
              <h2 id="rate-limits" className="text-lg font-semibold">
                Rate limits
              </h2>
              <p className="text-text-2">
                Limits on calls and tokens apply to each model, limits on documents to each knowledge base. Work over a limit waits. Leave
                empty for the server's limits.
              </p>
              <LimitFields draft={draft} server={settings.server.rate_limits} error={save.error} onChange={change} />
            </section>
          </fieldset>
        </form>
        <div className="mt-6 border-t border-line pt-4">
          <OrganizationQuotas />
        </div>
        <p className="mt-6 text-text-3">
          Organization <span className="font-mono text-xs break-all">{organization.organization_id}</span>, since{" "}
          <Time at={organization.created_at} />
        </p>
      </ScrollArea>
      {isChanged && <UnsavedBar form={FORM} isSaving={save.isPending} onDiscard={() => (setEdited(null), save.reset())} />}
      <ConfirmDialog
        open={isAsking}
        onOpenChange={setAsking}
        title={`Keep documents for ${plural(Number(draft.retentionDays), "day")} only?`}
        action="Delete older documents"
        onConfirm={() => save.mutate()}
      >
        Older documents are deleted within minutes, also from all knowledge bases. This cannot be undone.
      </ConfirmDialog>
    </>
  );
}
