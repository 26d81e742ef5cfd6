"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import dynamic from "next/dynamic";
import Link from "next/link";
import { useState } from "react";
import { toast } from "sonner";

import { answered, api, organizationPath } from "@/api/client";
import { ApiError } from "@/api/errors";
import { promptKeys } from "@/api/keys";
import { SkeletonBlock } from "@/components/feedback";
import { Button } from "@/components/ui/button";

import { bodyOf, type Draft, draftOf, isSameDraft } from "./draft";
import type { Prompt } from "./queries";
import { UnsavedGuard } from "./unsaved-guard";

const PromptForm = dynamic(() => import("./prompt-form").then((module) => module.PromptForm), {
  ssr: false,
  loading: () => <SkeletonBlock lines={8} />,
});

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
    mutationFn: (written: Draft) =>
      answered(
        api.PUT("/v0/orgs/{organization_id}/prompts/{prompt_id}", {
          params: {
            path: { ...organizationPath(), prompt_id: prompt.prompt_id },
            // Where it is told that there is a later version, saving is meant to follow it.
            header: { "If-Match": `"${isOvertaken ? prompt.version : begun.version}"` },
          },
          body: { ...bodyOf(written), runs_on_existing: written.runs_on_existing },
        }),
      ),
    onSuccess: async (saved) => {
      if (saved.version === begun.version) toast("Saved");
      else toast(`Saved as version ${saved.version}`, { description: "Results of earlier versions are kept under Results." });
      setBegun(saved);
      setDraft(draftOf(saved, saved.name));
      client.setQueryData(promptKeys.one(prompt.prompt_id), saved);
      await client.invalidateQueries({ queryKey: promptKeys.all });
    },
    // Somebody was faster: their version is loaded, and told below.
    onError: () => client.invalidateQueries({ queryKey: promptKeys.one(prompt.prompt_id) }),
  });
  const isConflict = save.error instanceof ApiError && save.error.code === "stale_version";
  const discard = () => {
    save.reset();
    setBegun(prompt);
    setDraft(draftOf(prompt, prompt.name));
  };
  const [discarded, setDiscarded] = useState(0);
  // Nothing is being written: show what others saved.
  if (isOvertaken && !isDirty) {
    setBegun(prompt);
    setDraft(draftOf(prompt, prompt.name));
  }
  return (
    <div className="min-h-0 flex-1 overflow-auto">
      <UnsavedGuard isDirty={isDirty} />
      <PromptForm
        key={`${begun.updated_at} ${begun.version} ${discarded}`}
        initial={initial}
        error={isConflict ? null : save.error}
        isSaving={save.isPending}
        onChange={setDraft}
        onSave={(written) => save.mutate(written)}
        runsWord="Also run the new version on existing documents with these tags"
      >
        <div className="flex flex-wrap items-center gap-2 border-t border-line pt-4">
          <Button type="submit" variant="primary" disabled={!isDirty}>
            {save.isPending
              ? "Saving…"
              : isDirty && isSameDraft({ ...draft, name: initial.name }, initial)
                ? "Save the name"
                : `Save as version ${prompt.version + 1}`}
          </Button>
          {isDirty && (
            <>
              <Button
                onClick={() => {
                  discard();
                  setDiscarded(discarded + 1);
                }}
              >
                Discard changes
              </Button>
              <span className="text-text-2" role="status">
                Not saved yet
              </span>
            </>
          )}
          {isOvertaken && isDirty && (
            <span className="basis-full text-warn" role="alert">
              Someone saved version {prompt.version} while you were editing. Your text is still here. Saving makes it version{" "}
              {prompt.version + 1}; theirs stays under{" "}
              <Link className="underline" href={`/prompts/view/?id=${prompt.prompt_id}&tab=versions`} target="_blank">
                Versions
              </Link>
              .
            </span>
          )}
        </div>
      </PromptForm>
    </div>
  );
}
