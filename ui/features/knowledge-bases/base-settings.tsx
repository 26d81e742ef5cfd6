"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import dynamic from "next/dynamic";
import Link from "next/link";
import { useState } from "react";
import { useWatch } from "react-hook-form";
import { toast } from "sonner";

import { answered, api, organizationPath } from "@/api/client";
import { type KnowledgeBase, tagIndexQuery } from "@/api/queries";
import { kbKeys } from "@/api/keys";
import { SkeletonBlock } from "@/components/feedback";
import { May } from "@/components/may";
import { Banner } from "@/components/state";
import { Button } from "@/components/ui/button";
import { Form, FormFailure, showFailure, useSchemaForm } from "@/components/ui/form";
import { formatCount } from "@/lib/format";
import { usePermissions } from "@/state/permissions";

import { BaseFields, type BaseValues, bodyOf, EDIT_SCHEMA, valuesOf } from "./base-fields";

// Loaded when they are opened: few visits need them.
const MoveBase = dynamic(() => import("./move-base"), { ssr: false });
const ChunkPreview = dynamic(() => import("./chunk-preview"), { ssr: false });

/** Settings of a knowledge base: those that can be changed, and those that are fixed. */
export function BaseSettings({ base }: { base: KnowledgeBase }) {
  const client = useQueryClient();
  const { data: tagIndex } = useQuery(tagIndexQuery());
  const { isKnown, may, whoMay } = usePermissions();
  const mayChange = may("update_knowledge_base");
  const [opened, setOpened] = useState<"move" | "preview" | null>(null);
  const form = useSchemaForm(EDIT_SCHEMA, valuesOf(base));
  const { isDirty } = form.formState;
  const tagIds = useWatch({ control: form.control, name: "tag_ids" });
  const leaving = base.tag_ids.filter((id) => !tagIds.includes(id));
  const save = useMutation({
    mutationFn: (values: BaseValues) =>
      answered(
        api.PUT("/v0/orgs/{organization_id}/knowledge-bases/{kb_id}", {
          params: { path: { ...organizationPath(), kb_id: base.kb_id } },
          body: bodyOf(values),
        }),
      ),
    onSuccess: async (saved) => {
      form.reset(valuesOf(saved));
      toast("Saved");
      await client.invalidateQueries({ queryKey: kbKeys.all });
    },
    onError: (error) => showFailure(form, error),
  });
  // Who may change what decides which rows there are: shown before it is known, the later ones would jump.
  if (!isKnown) return <SkeletonBlock lines={12} />;
  return (
    <div className="min-h-0 flex-1 overflow-auto">
      <Form form={form} className="flex max-w-[640px] flex-col gap-5 p-4" onSubmit={(values) => save.mutate(values)}>
        {!mayChange && <Banner tone="working">You can view these settings. {whoMay("update_knowledge_base")} can change them.</Banner>}
        <FormFailure control={form.control} note="Your changes are still here." />
        <fieldset disabled={!mayChange} className="contents">
          <BaseFields
            control={form.control}
            tagNote={
              leaving.length > 0 && (
                <span className="text-warn">
                  Saving removes documents that share only {leaving.map((id) => tagIndex?.get(id)?.name ?? "an unknown tag").join(" or ")}{" "}
                  with this knowledge base.
                </span>
              )
            }
          />
        </fieldset>
        {mayChange && (
          <div className="flex items-center gap-2">
            <Button type="submit" variant="primary" disabled={!isDirty || save.isPending}>
              {save.isPending ? "Saving…" : "Save"}
            </Button>
            {isDirty && <span className="text-text-2">Not saved yet</span>}
          </div>
        )}
      </Form>
      <section className="max-w-[640px] border-t border-line p-4">
        <h2 className="text-lg font-semibold">Index</h2>
        <May to="create_knowledge_base">
          <p className="mb-3 text-text-2">
            <Link href={`/kbs/new/?from=${base.kb_id}`} className="text-link underline">
              Clone the knowledge base
            </Link>{" "}
            to use other settings.
          </p>
        </May>
        <dl className="grid grid-cols-[160px_minmax(0,1fr)] gap-x-4 gap-y-1.5">
          <dt className="text-text-2">Embedding model</dt>
          <dd className="break-words">{base.embedding_model}</dd>
          <dt className="text-text-2">Dimensions</dt>
          <dd>{formatCount(base.embedding_dimensions)}</dd>
          <dt className="text-text-2">Chunker</dt>
          <dd>{base.chunker_type}</dd>
          <dt className="text-text-2">Chunk size, overlap</dt>
          <dd>
            {formatCount(base.chunk_size)}, {formatCount(base.chunk_overlap)} tokens
          </dd>
          {base.section_level > 0 && (
            <>
              <dt className="text-text-2">Section level</dt>
              <dd>{base.section_level}</dd>
            </>
          )}
          <dt className="text-text-2">Index types</dt>
          <dd>{base.index_types.join(", ")}</dd>
          <dt className="text-text-2">Context</dt>
          <dd>
            {base.context
              ? "Chunks are searched with their document's name and headings."
              : "Indexed without context: by their own text alone."}
          </dd>
          <dt className="text-text-2">Searched metadata</dt>
          <dd className="break-words">{base.searched_metadata.join(", ") || "None"}</dd>
          <dt className="text-text-2">Id</dt>
          <dd className="font-mono text-xs break-all">{base.kb_id}</dd>
        </dl>
        <div className="mt-4 flex flex-wrap gap-2">
          <May to="move_knowledge_base">
            <Button onClick={() => setOpened("move")}>{base.context ? "Change searched metadata" : "Index again with context"}</Button>
          </May>
          <Button onClick={() => setOpened("preview")}>Preview chunks</Button>
        </div>
        {opened === "move" && <MoveBase base={base} onClose={() => setOpened(null)} />}
        {opened === "preview" && <ChunkPreview chunking={base} onClose={() => setOpened(null)} />}
      </section>
    </div>
  );
}
