"use client";

import { useQuery } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { type Control, useController } from "react-hook-form";
import * as z from "zod/mini";

import { type KnowledgeBase, tagIndexQuery } from "@/api/queries";
import { May } from "@/components/may";
import { TagChip } from "@/components/tag-chip";
import { TagPicker } from "@/components/tag-picker";
import { Button } from "@/components/ui/button";
import { FieldProblem, TextareaField, TextField } from "@/components/ui/form";
import { required, typedNumber } from "@/lib/checks";

const CHANGEABLE = {
  name: required("Enter a name."),
  description: z.string(),
  tag_ids: z.array(z.string()),
  coalesce_neighbors: typedNumber("Enter a whole number from 0 to 5.", { least: 0, most: 5 }),
};

/** The granularities of an index, smallest first. */
export const INDEX_TYPES = ["paragraph", "section", "website"] as const;

/** The rest is stored as it is: nobody changes it here. */
export const EDIT_SCHEMA = z.object({
  ...CHANGEABLE,
  embedding_model: z.string(),
  chunker_type: z.string(),
  chunk_size: z.string(),
  chunk_overlap: z.string(),
  searched_metadata: z.string(),
  section_level: z.string(),
  index_types: z.array(z.enum(INDEX_TYPES)),
});

export const CREATE_SCHEMA = z
  .object({
    ...CHANGEABLE,
    embedding_model: z.string(),
    chunker_type: z.string(),
    chunk_size: typedNumber("Enter a whole number from 4 to 8,192.", { least: 4, most: 8192 }),
    chunk_overlap: typedNumber("Enter a whole number of 0 or more.", { least: 0 }),
    searched_metadata: z.string(),
    section_level: z.string(),
    index_types: z.array(z.enum(INDEX_TYPES)),
  })
  .check(
    z.refine((values) => Number(values.chunk_overlap) < Number(values.chunk_size), {
      error: "The overlap must be smaller than the chunk size.",
      path: ["chunk_overlap"],
    }),
  );

export type BaseValues = z.infer<typeof EDIT_SCHEMA>;

export function valuesOf(base: KnowledgeBase | undefined): BaseValues {
  return {
    name: base?.name ?? "",
    description: base?.description ?? "",
    tag_ids: [...(base?.tag_ids ?? [])].sort(),
    coalesce_neighbors: String(base?.coalesce_neighbors ?? 0),
    embedding_model: base?.embedding_model ?? "",
    chunker_type: base?.chunker_type ?? "auto",
    chunk_size: String(base?.chunk_size ?? 512),
    chunk_overlap: String(base?.chunk_overlap ?? 128),
    searched_metadata: (base?.searched_metadata ?? []).join(", "),
    section_level: String(base?.section_level ?? 0),
    index_types: base?.index_types ?? ["paragraph"],
  };
}

/** What can be changed at any time, as the API takes it. */
export function bodyOf(values: BaseValues) {
  return {
    name: values.name.trim(),
    description: values.description,
    tag_ids: values.tag_ids,
    coalesce_neighbors: Number(values.coalesce_neighbors),
  };
}

/** The fields that creating and editing a knowledge base share. */
export function BaseFields({
  control,
  tagNote,
  isFresh = false,
}: {
  control: Control<BaseValues>;
  tagNote: React.ReactNode;
  isFresh?: boolean;
}) {
  return (
    <>
      <TextField control={control} name="name" label="Name" required autoFocus={isFresh} maxLength={200} />
      <BaseTags control={control} note={tagNote} />
      <TextareaField control={control} name="description" label="Description" rows={2} maxLength={5000} />
      <TextField
        control={control}
        name="coalesce_neighbors"
        label="Neighbours with each hit"
        hint="Chunks before and after each hit, for context."
        className="max-w-[120px]"
        type="number"
        min={0}
        max={5}
        required
      />
    </>
  );
}

function BaseTags({ control, note }: { control: Control<BaseValues>; note: React.ReactNode }) {
  const { data: tagIndex } = useQuery(tagIndexQuery());
  const { field } = useController({ control, name: "tag_ids" });
  const tagIds = field.value;
  const without = (id: string) => tagIds.filter((other) => other !== id);
  return (
    <div className="flex flex-col gap-1">
      <span className="font-medium">Tags</span>
      <div className="flex flex-wrap items-center gap-2">
        {tagIds.map((id) => {
          const tag = tagIndex?.get(id);
          return (
            tag && (
              <span key={id} className="inline-flex items-center">
                <TagChip tag={tag} />
                <May to="update_knowledge_base">
                  <Button variant="quiet" size="small" aria-label={`Remove tag ${tag.name}`} onClick={() => field.onChange(without(id))}>
                    <X aria-hidden size={12} />
                  </Button>
                </May>
              </span>
            )
          );
        })}
        <May to="update_knowledge_base">
          <TagPicker
            ticked={(id) => (tagIds.includes(id) ? "all" : "none")}
            onToggle={(tag, isOn) => field.onChange(isOn ? [...without(tag.tag_id), tag.tag_id].sort() : without(tag.tag_id))}
          >
            <Button size="small">
              <Plus aria-hidden size={13} /> Tag
            </Button>
          </TagPicker>
        </May>
      </div>
      {note}
      <FieldProblem control={control} name="tag_ids" />
    </div>
  );
}
