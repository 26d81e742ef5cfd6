"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useController, useWatch } from "react-hook-form";
import * as z from "zod/mini";

import { answered, api, idempotencyKey, organizationPath } from "@/api/client";
import type { Tag } from "@/api/queries";
import { tagKeys } from "@/api/keys";
import { Dialog } from "@/components/ui/dialog";
import { Button } from "@/components/ui/button";
import { FieldProblem, Form, FormFailure, showFailure, TextareaField, TextField, useSchemaForm } from "@/components/ui/form";
import { required } from "@/lib/checks";
import { colourFor, TAG_COLOURS } from "@/lib/tag-colours";

/** `color` is empty until one is chosen: the name gives it then. */
const SCHEMA = z.object({ name: required("Enter a name."), description: z.string(), color: z.string() });

/** Creates a tag, or edits `tag`. */
export function TagDialog({ tag, open, onClose }: { tag: Tag | null; open: boolean; onClose: () => void }) {
  const client = useQueryClient();
  const form = useSchemaForm(SCHEMA, { name: tag?.name ?? "", description: tag?.description ?? "", color: tag?.color ?? "" });
  const { field: chosen } = useController({ control: form.control, name: "color" });
  const name = useWatch({ control: form.control, name: "name" });
  const colour = chosen.value || colourFor(name.trim());
  const save = useMutation({
    mutationFn: (values: z.infer<typeof SCHEMA>) => {
      const body = { ...values, name: values.name.trim(), color: colour };
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
    onError: (error) => showFailure(form, error),
  });
  const colours = tag && !TAG_COLOURS.some((known) => known === tag.color) ? [tag.color, ...TAG_COLOURS] : [...TAG_COLOURS];
  return (
    <Dialog
      open={open}
      onOpenChange={(isOpen) => !isOpen && onClose()}
      title={tag ? `Edit ${tag.name}` : "New tag"}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form="tag-form" variant="primary" disabled={save.isPending}>
            {tag ? "Save" : "Create tag"}
          </Button>
        </>
      }
    >
      <Form form={form} id="tag-form" className="flex flex-col gap-3" onSubmit={(values) => save.mutate(values)}>
        <FormFailure control={form.control} />
        <TextField control={form.control} name="name" label="Name" autoFocus required maxLength={100} />
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
                  onChange={() => chosen.onChange(choice)}
                  aria-label={choice}
                />
                <span aria-hidden className="size-3.5 rounded-full" style={{ background: choice }} />
              </label>
            ))}
          </div>
        </fieldset>
        <FieldProblem control={form.control} name="color" />
        <TextareaField control={form.control} name="description" label="Description" rows={3} maxLength={2000} />
      </Form>
    </Dialog>
  );
}
