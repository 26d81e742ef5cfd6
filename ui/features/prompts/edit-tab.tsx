"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { toast } from "sonner";

import { answered, api, organizationPath } from "@/api/client";

import { bodyOf, type Draft, draftOf, isSameDraft } from "./draft";
import { PromptForm } from "./prompt-form";
import type { Prompt } from "./queries";
import { UnsavedGuard } from "./unsaved-guard";

/** The prompt as it stands; saving makes a further version, and a new name alone makes none. */
export function EditTab({ prompt }: { prompt: Prompt }) {
  const client = useQueryClient();
  // What is being written was begun from this version, whatever others save meanwhile.
  const [begun, setBegun] = useState(prompt);
  const initial = draftOf(begun, begun.name);
  const [draft, setDraft] = useState<Draft>(initial);
  const isDirty = !isSameDraft(draft, initial);
  const isOvertaken = prompt.version > begun.version;
  const save = useMutation({
    mutationFn: ({ runsOnExisting }: { runsOnExisting: boolean }) =>
      answered(
        api.PUT("/v0/orgs/{organization_id}/prompts/{prompt_id}", {
          params: { path: { ...organizationPath(), prompt_id: prompt.prompt_id } },
          body: { ...bodyOf(draft), runs_on_existing: runsOnExisting },
        }),
      ),
    onSuccess: async (saved) => {
      toast(saved.version === begun.version ? "Saved" : `Saved as version ${saved.version}`);
      setBegun(saved);
      setDraft(draftOf(saved, saved.name));
      client.setQueryData(["prompts", "one", prompt.prompt_id], saved);
      await client.invalidateQueries({ queryKey: ["prompts"] });
    },
  });
  const discard = () => {
    save.reset();
    setBegun(prompt);
    setDraft(draftOf(prompt, prompt.name));
  };
  const [discarded, setDiscarded] = useState(0);
  useEffect(() => {
    // Nothing is being written: what others saved is shown.
    if (isOvertaken && !isDirty) {
      setBegun(prompt);
      setDraft(draftOf(prompt, prompt.name));
    }
  }, [isOvertaken, isDirty, prompt]);
  return (
    <div className="min-h-0 flex-1 overflow-auto">
      <UnsavedGuard isDirty={isDirty} />
      <PromptForm
        key={`${begun.updated_at} ${begun.version} ${discarded}`}
        initial={initial}
        error={save.error}
        isSaving={save.isPending}
        onChange={setDraft}
        onSave={(_, runsOnExisting) => save.mutate({ runsOnExisting })}
        runsWord="Run the new version on the documents with these tags that are there already"
      >
        {() => (
          <div className="flex flex-wrap items-center gap-2 border-t border-line pt-4">
            <button type="submit" className="button button-primary" disabled={!isDirty}>
              {save.isPending ? "Saving…" : isDirty && isSameDraft({ ...draft, name: initial.name }, initial) ? "Save the name" : `Save as version ${prompt.version + 1}`}
            </button>
            {isDirty && (
              <>
                <button
                  type="button"
                  className="button"
                  onClick={() => {
                    discard();
                    setDiscarded(discarded + 1);
                  }}
                >
                  Discard changes
                </button>
                <span className="text-text-2" role="status">
                  Not saved yet
                </span>
              </>
            )}
            {isOvertaken && isDirty && (
              <span className="basis-full text-warn">
                Somebody has saved version {prompt.version} meanwhile. Saving makes yours the latest; theirs stays under Versions.
              </span>
            )}
          </div>
        )}
      </PromptForm>
    </div>
  );
}
