"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import Link from "next/link";
import { useState } from "react";
import { toast } from "sonner";

import { answered, api, organizationPath } from "@/api/client";
import { type KnowledgeBase, tagIndexQuery } from "@/api/queries";
import { Field, formError } from "@/components/form";
import { Banner } from "@/components/state";
import { TagChip } from "@/components/tag-chip";
import { TagPicker } from "@/components/tag-picker";
import { formatCount } from "@/lib/format";

export function BaseSettings({ base }: { base: KnowledgeBase }) {
  const client = useQueryClient();
  const { data: tagIndex } = useQuery(tagIndexQuery());
  const [name, setName] = useState(base.name);
  const [description, setDescription] = useState(base.description);
  const [tagIds, setTagIds] = useState<readonly string[]>(base.tag_ids);
  const [neighbours, setNeighbours] = useState(String(base.coalesce_neighbors));
  const isChanged =
    name !== base.name ||
    description !== base.description ||
    neighbours !== String(base.coalesce_neighbors) ||
    [...tagIds].sort().join() !== [...base.tag_ids].sort().join();
  const leaving = base.tag_ids.filter((id) => !tagIds.includes(id));
  const save = useMutation({
    mutationFn: () =>
      answered(
        api.PUT("/v0/orgs/{organization_id}/knowledge-bases/{kb_id}", {
          params: { path: { ...organizationPath(), kb_id: base.kb_id } },
          body: { name: name.trim(), description, tag_ids: [...tagIds], coalesce_neighbors: Number(neighbours) },
        }),
      ),
    onSuccess: async () => {
      toast("Saved");
      await client.invalidateQueries({ queryKey: ["kbs"] });
    },
  });
  const general = formError(save.error, ["name", "description", "coalesce_neighbors"]);
  return (
    <div className="min-h-0 flex-1 overflow-auto">
      <form
        className="flex max-w-[640px] flex-col gap-5 p-4"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        {general && <Banner tone="failed">{general} Your changes are still here.</Banner>}
        <Field label="Name" error={save.error} field="name">
          <input className="field" required maxLength={200} value={name} onChange={(event) => setName(event.target.value)} />
        </Field>
        <Field label="Description" error={save.error} field="description">
          <textarea className="field" rows={2} maxLength={5000} value={description} onChange={(event) => setDescription(event.target.value)} />
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
                    <button type="button" className="button button-quiet button-small" aria-label={`Take out ${tag.name}`} onClick={() => setTagIds(tagIds.filter((other) => other !== id))}>
                      <X aria-hidden size={12} />
                    </button>
                  </span>
                )
              );
            })}
            <TagPicker
              ticked={(id) => (tagIds.includes(id) ? "all" : "none")}
              onToggle={(tag, isOn) => setTagIds((ids) => (isOn ? [...ids, tag.tag_id] : ids.filter((id) => id !== tag.tag_id)))}
            >
              <button type="button" className="button button-small">
                <Plus aria-hidden size={13} /> Tag
              </button>
            </TagPicker>
          </div>
          {leaving.length > 0 && (
            <span className="text-warn">
              Documents whose last shared tag is {leaving.map((id) => tagIndex?.get(id)?.name ?? "unknown").join(" or ")} leave as soon as
              you save.
            </span>
          )}
        </div>
        <Field label="Neighbours with each hit" error={save.error} field="coalesce_neighbors" hint="Chunks before and after a hit, for context.">
          <input className="field max-w-[120px]" type="number" min={0} max={5} required value={neighbours} onChange={(event) => setNeighbours(event.target.value)} />
        </Field>
        <div className="flex items-center gap-2">
          <button type="submit" className="button button-primary" disabled={!isChanged || save.isPending}>
            {save.isPending ? "Saving…" : "Save"}
          </button>
          {isChanged && <span className="text-text-2">Not saved yet</span>}
        </div>
      </form>
      <section className="max-w-[640px] border-t border-line p-4">
        <h2 className="text-lg font-semibold">Fixed after creation</h2>
        <p className="mb-3 text-text-2">
          <Link href={`/kbs/new/?from=${base.kb_id}`} className="text-link underline">
            Clone it
          </Link>{" "}
          to change these.
        </p>
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
          <dt className="text-text-2">Id</dt>
          <dd className="font-mono text-xs break-all">{base.kb_id}</dd>
        </dl>
      </section>
    </div>
  );
}
