"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { answered, api, idempotencyKey, organizationPath } from "@/api/client";
import type { Tag } from "@/api/queries";
import { tagKeys } from "@/api/keys";
import { Dialog } from "@/components/ui/dialog";
import { Field, formError, Input, Textarea } from "@/components/ui/field";
import { Banner } from "@/components/state";
import { Button } from "@/components/ui/button";
import { colourFor, TAG_COLOURS } from "@/lib/tag-colours";

export function TagDialog({ tag, open, onClose }: { tag: Tag | null; open: boolean; onClose: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState(tag?.name ?? "");
  const [description, setDescription] = useState(tag?.description ?? "");
  const [chosen, setColour] = useState<string | null>(tag?.color ?? null);
  const colour = chosen ?? colourFor(name.trim());
  const save = useMutation({
    mutationFn: () => {
      const body = { name: name.trim(), description, color: colour };
      return tag
        ? answered(
            api.PUT("/v0/orgs/{organization_id}/tags/{tag_id}", {
              params: { path: { ...organizationPath(), tag_id: tag.tag_id } },
              body,
            }),
          )
        : answered(
            api.POST("/v0/orgs/{organization_id}/tags", {
              params: { path: organizationPath() },
              body,
              headers: idempotencyKey(),
            }),
          );
    },
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: tagKeys.all });
      onClose();
    },
  });
  const colours = tag && !TAG_COLOURS.some((known) => known === tag.color) ? [tag.color, ...TAG_COLOURS] : [...TAG_COLOURS];
  const general = formError(save.error, ["name", "description", "color"]);
  return (
    <Dialog
      open={open}
      onOpenChange={(isOpen) => !isOpen && onClose()}
      title={tag ? `Edit ${tag.name}` : "New tag"}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form="tag-form" variant="primary" disabled={save.isPending || name.trim() === ""}>
            {tag ? "Save" : "Create the tag"}
          </Button>
        </>
      }
    >
      <form
        id="tag-form"
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        {general && <Banner tone="failed">{general}</Banner>}
        <Field label="Name" error={save.error} field="name">
          <Input autoFocus required maxLength={100} value={name} onChange={(event) => setName(event.target.value)} />
        </Field>
        <fieldset>
          <legend className="mb-1 font-medium">Colour</legend>
          <div className="flex flex-wrap gap-1.5">
            {colours.map((choice) => (
              <label
                key={choice}
                className={`flex size-8 items-center justify-center rounded-md border ${choice === colour ? "border-focus bg-selected" : "border-line"}`}
              >
                <input
                  type="radio"
                  className="sr-only"
                  name="colour"
                  checked={choice === colour}
                  onChange={() => setColour(choice)}
                  aria-label={choice}
                />
                <span aria-hidden className="size-3.5 rounded-full" style={{ background: choice }} />
              </label>
            ))}
          </div>
        </fieldset>
        <Field label="Description" error={save.error} field="description">
          <Textarea rows={3} maxLength={2000} value={description} onChange={(event) => setDescription(event.target.value)} />
        </Field>
      </form>
    </Dialog>
  );
}
