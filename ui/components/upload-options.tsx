"use client";

import { Tag as TagIcon, X } from "lucide-react";
import { useEffect } from "react";
import { useController } from "react-hook-form";
import * as z from "zod/mini";

import type { Tag } from "@/api/queries";
import { TagPicker } from "@/components/tag-picker";
import { Button } from "@/components/ui/button";
import { Form, useSchemaForm } from "@/components/ui/form";
import { Select } from "@/components/ui/select";
import { plural } from "@/lib/format";
import { type Batch, changeDraft, discardDraft, type DuplicatePolicy, sendDraft } from "@/state/uploads";

export const POLICY_LABELS: Record<DuplicatePolicy, string> = {
  return: "Skip",
  replace: "Replace",
  create: "Upload a copy",
};

const SCHEMA = z.object({ tagIds: z.array(z.string()), policy: z.enum(["return", "replace", "create"]) });

/** Tags and the duplicate policy of the files that are not sent yet; the batch keeps them while the page changes. */
export function UploadOptionsForm({
  draft,
  count,
  tagIndex,
}: {
  draft: Batch;
  count: number;
  tagIndex: ReadonlyMap<string, Tag> | undefined;
}) {
  const form = useSchemaForm(SCHEMA, { tagIds: [...draft.tagIds], policy: draft.policy });
  const { control } = form;
  const { field: tags } = useController({ control, name: "tagIds" });
  const { field: policy } = useController({ control, name: "policy" });
  useEffect(() => form.subscribe({ formState: { values: true }, callback: ({ values }) => changeDraft(values) }), [form]);
  const tagIds = tags.value;
  const without = (id: string) => tagIds.filter((other) => other !== id);
  return (
    <Form form={form} className="flex flex-col gap-2 border-t border-line p-3" onSubmit={sendDraft}>
      <div className="flex max-h-28 flex-wrap items-center gap-1.5 overflow-y-auto">
        <TagPicker
          ticked={(id) => (tagIds.includes(id) ? "all" : "none")}
          onToggle={(tag, isOn) => tags.onChange(isOn ? [...without(tag.tag_id), tag.tag_id] : without(tag.tag_id))}
        >
          <Button size="small">
            <TagIcon aria-hidden size={13} /> Tags
          </Button>
        </TagPicker>
        {tagIds.map((id) => {
          const tag = tagIndex?.get(id) ?? { name: tagIndex ? "unknown tag" : "…", color: "transparent" };
          return (
            <span key={id} className="chip pr-0!" title={tag.name}>
              <span aria-hidden className="size-2 shrink-0 rounded-full" style={{ background: tag.color }} />
              <span className="truncate">{tag.name}</span>
              <button
                type="button"
                className="flex h-full shrink-0 items-center px-1 hover:text-text"
                aria-label={`Remove tag ${tag.name}`}
                onClick={() => tags.onChange(without(id))}
              >
                <X aria-hidden size={12} />
              </button>
            </span>
          );
        })}
        {tagIds.length === 0 && <span className="text-text-3">Tags decide which knowledge bases index these files</span>}
      </div>
      <label className="flex items-center gap-2">
        <span className="shrink-0 text-text-2">If the file already exists</span>
        <Select {...policy}>
          {Object.entries(POLICY_LABELS).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </Select>
      </label>
      <div className="flex gap-2">
        <Button type="submit" variant="primary" className="flex-1">
          Upload {plural(count, "file")}
        </Button>
        <Button aria-label={`Discard ${plural(count, "file")}`} onClick={discardDraft}>
          Discard
        </Button>
      </div>
    </Form>
  );
}
