"use client";

import { useQuery } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { type Control, useController } from "react-hook-form";

import { tagIndexQuery } from "@/api/queries";
import { May } from "@/components/may";
import { TagChip } from "@/components/tag-chip";
import { TagPicker } from "@/components/tag-picker";
import { Button } from "@/components/ui/button";
import { FieldProblem } from "@/components/ui/form";

import type { SourceValues } from "./source-values";

/** The tags of a source's documents. */
export function SourceTags({ control }: { control: Control<SourceValues> }) {
  const { field } = useController({ control, name: "tag_ids" });
  const without = (id: string) => field.value.filter((other) => other !== id);
  return (
    <ChosenTags
      label="Tags"
      hint="Documents of this source get these tags, and so reach the knowledge bases that share one."
      add="Tag"
      chosen={field.value}
      onChange={(id, isOn) => field.onChange(isOn ? [...without(id), id].sort() : without(id))}
    >
      <FieldProblem control={control} name="tag_ids" />
    </ChosenTags>
  );
}

/** The tag of documents of vanished items. */
export function VanishedTag({ control }: { control: Control<SourceValues> }) {
  const { field } = useController({ control, name: "vanished_tag_id" });
  return (
    <ChosenTags
      label="Tag for vanished items"
      add="Choose tag"
      chosen={field.value === null ? [] : [field.value]}
      onChange={(id, isOn) => field.onChange(isOn ? id : null)}
    >
      <FieldProblem control={control} name="vanished_tag_id" />
    </ChosenTags>
  );
}

function ChosenTags({
  label,
  hint,
  add,
  chosen,
  onChange,
  children,
}: {
  label: string;
  hint?: string;
  /** Label of the button that opens the picker. */
  add: string;
  chosen: readonly string[];
  onChange: (tagId: string, isOn: boolean) => void;
  children: React.ReactNode;
}) {
  const { data: tagIndex } = useQuery(tagIndexQuery());
  return (
    <div role="group" aria-label={label} className="flex flex-col gap-1">
      <span className="font-medium">{label}</span>
      <div className="flex flex-wrap items-center gap-2">
        {chosen.map((id) => {
          const tag = tagIndex?.get(id);
          return (
            tag && (
              <span key={id} className="inline-flex items-center">
                <TagChip tag={tag} />
                <May to="update_source">
                  <Button variant="quiet" size="small" aria-label={`Remove tag ${tag.name}`} onClick={() => onChange(id, false)}>
                    <X aria-hidden size={12} />
                  </Button>
                </May>
              </span>
            )
          );
        })}
        <May to="update_source">
          <TagPicker ticked={(id) => (chosen.includes(id) ? "all" : "none")} onToggle={(tag, isOn) => onChange(tag.tag_id, isOn)}>
            <Button size="small">
              <Plus aria-hidden size={13} /> {add}
            </Button>
          </TagPicker>
        </May>
      </div>
      {hint && <span className="text-text-3">{hint}</span>}
      {children}
    </div>
  );
}
