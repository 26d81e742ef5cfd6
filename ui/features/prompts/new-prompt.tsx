"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import dynamic from "next/dynamic";
import { useRouter } from "next/navigation";
import { parseAsString, useQueryState } from "nuqs";
import { useState } from "react";

import { answered, api, idempotencyKey, organizationPath } from "@/api/client";
import { promptKeys } from "@/api/keys";
import { ErrorState, SkeletonBlock } from "@/components/feedback";
import { OnlyWhoMay } from "@/components/may";
import { PageHead } from "@/components/page-head";
import { Button, ButtonLink } from "@/components/ui/button";
import { useMay } from "@/state/permissions";

import { bodyOf, type Draft, draftOf, EMPTY_DRAFT, isSameDraft } from "./draft";
import { promptQuery } from "./queries";
import { UnsavedGuard } from "./unsaved-guard";

const PromptForm = dynamic(() => import("./prompt-form").then((module) => module.PromptForm), {
  ssr: false,
  loading: () => <SkeletonBlock lines={8} />,
});

const PARENT = { href: "/prompts/", label: "Prompts" };

/** A new prompt; `from` begins with what another one says. */
export function NewPrompt() {
  const [from] = useQueryState("from", parseAsString);
  const original = useQuery(promptQuery(from ?? ""));
  const mayChange = useMay("create_prompt");
  if (!mayChange) {
    return (
      <>
        <PageHead title="New prompt" parent={PARENT} />
        <OnlyWhoMay to="create_prompt" what="create prompts">
          {null}
        </OnlyWhoMay>
      </>
    );
  }
  if (from !== null && !original.data) {
    return (
      <>
        <PageHead title="New prompt" parent={PARENT} />
        {original.error ? (
          <ErrorState error={original.error} retry={() => void original.refetch()} title="The prompt to copy could not be loaded" />
        ) : (
          <SkeletonBlock lines={8} />
        )}
      </>
    );
  }
  const initial = original.data ? draftOf(original.data, `${original.data.name} (copy)`.slice(0, 200)) : EMPTY_DRAFT;
  return (
    <>
      <PageHead title={original.data ? `Copy of ${original.data.name}` : "New prompt"} parent={PARENT} />
      <div className="min-h-0 flex-1 overflow-auto">
        <Create key={from} initial={initial} />
      </div>
    </>
  );
}

function Create({ initial }: { initial: Draft }) {
  const router = useRouter();
  const client = useQueryClient();
  const [isDirty, setDirty] = useState(false);
  const create = useMutation({
    mutationFn: (draft: Draft) =>
      answered(
        api.POST("/v0/orgs/{organization_id}/prompts", {
          params: { path: organizationPath() },
          body: { ...bodyOf(draft), runs_on_existing: draft.runs_on_existing },
          headers: idempotencyKey(),
        }),
      ),
    onSuccess: async (made) => {
      setDirty(false);
      await client.invalidateQueries({ queryKey: promptKeys.all });
      router.push(`/prompts/view/?id=${made.prompt_id}`);
    },
  });
  return (
    <>
      <UnsavedGuard isDirty={isDirty && !create.isSuccess} />
      <PromptForm
        initial={initial}
        error={create.error}
        isSaving={create.isPending}
        onChange={(draft) => setDirty(!isSameDraft(draft, initial))}
        onSave={(draft) => create.mutate(draft)}
        runsWord="Also run the prompt on existing documents with these tags"
      >
        <div className="flex flex-wrap items-center gap-2 border-t border-line pt-4">
          <Button type="submit" variant="primary">
            {create.isPending ? "Saving…" : "Save the prompt"}
          </Button>
          <ButtonLink href="/prompts/">Cancel</ButtonLink>
        </div>
      </PromptForm>
    </>
  );
}
