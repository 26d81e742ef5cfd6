"use client";

import { useQuery } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";

import { type KnowledgeBase, tagIndexQuery } from "@/api/queries";
import { Field, Input, Textarea } from "@/components/ui/field";
import { TagChip } from "@/components/tag-chip";
import { May } from "@/components/may";
import { TagPicker } from "@/components/tag-picker";
import { Button } from "@/components/ui/button";

/** What can be changed at any time. */
export interface BaseFieldValues {
  name: string;
  description: string;
  tagIds: readonly string[];
  /** As typed. */
  neighbours: string;
}

export const BASE_FIELDS = ["name", "description", "coalesce_neighbors"];

export function fieldsOf(base: KnowledgeBase | undefined): BaseFieldValues {
  return {
    name: base?.name ?? "",
    description: base?.description ?? "",
    tagIds: base?.tag_ids ?? [],
    neighbours: String(base?.coalesce_neighbors ?? 0),
  };
}

/** As the API takes them. */
export function bodyOf({ name, description, tagIds, neighbours }: BaseFieldValues) {
  return { name: name.trim(), description, tag_ids: [...tagIds], coalesce_neighbors: Number(neighbours) };
}

/** The fields that making a knowledge base and changing it have in common. */
export function BaseFields({
  values,
  onChange,
  error,
  tagNote,
  isFresh = false,
}: {
  values: BaseFieldValues;
  onChange: (values: BaseFieldValues) => void;
  error: unknown;
  tagNote: React.ReactNode;
  isFresh?: boolean;
}) {
  const { data: tagIndex } = useQuery(tagIndexQuery());
  const { tagIds } = values;
  const setTagIds = (ids: readonly string[]) => onChange({ ...values, tagIds: ids });
  return (
    <>
      <Field label="Name" error={error} field="name">
        <Input
          required
          autoFocus={isFresh}
          maxLength={200}
          value={values.name}
          onChange={(event) => onChange({ ...values, name: event.target.value })}
        />
      </Field>
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
                    <Button
                      variant="quiet"
                      size="small"
                      aria-label={`Take out ${tag.name}`}
                      onClick={() => setTagIds(tagIds.filter((other) => other !== id))}
                    >
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
              onToggle={(tag, isOn) => setTagIds(isOn ? [...tagIds, tag.tag_id] : tagIds.filter((id) => id !== tag.tag_id))}
            >
              <Button size="small">
                <Plus aria-hidden size={13} /> Tag
              </Button>
            </TagPicker>
          </May>
        </div>
        {tagNote}
      </div>
      <Field label="Description" error={error} field="description">
        <Textarea
          rows={2}
          maxLength={5000}
          value={values.description}
          onChange={(event) => onChange({ ...values, description: event.target.value })}
        />
      </Field>
      <Field label="Neighbours with each hit" error={error} field="coalesce_neighbors" hint="Chunks before and after a hit, for context.">
        <Input
          className="max-w-[120px]"
          type="number"
          min={0}
          max={5}
          required
          value={values.neighbours}
          onChange={(event) => onChange({ ...values, neighbours: event.target.value })}
        />
      </Field>
    </>
  );
}
