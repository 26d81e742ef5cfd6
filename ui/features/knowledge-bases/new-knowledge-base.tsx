"use client";

import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import Link from "next/link";
import { useRouter } from "next/navigation";
import { parseAsString, useQueryState } from "nuqs";
import { useState } from "react";

import { answered, api, idempotencyKey, organizationPath } from "@/api/client";
import { type KnowledgeBase, knowledgeBaseQuery, tagIndexQuery } from "@/api/queries";
import { ErrorState, SkeletonBlock } from "@/components/feedback";
import { Field, formError } from "@/components/form";
import { PageHead } from "@/components/page-head";
import { Banner } from "@/components/state";
import { TagChip } from "@/components/tag-chip";
import { TagPicker } from "@/components/tag-picker";
import { plural } from "@/lib/format";

const PARENT = { href: "/kbs/", label: "Knowledge bases" };
const LOCAL_MODEL = "local/all-minilm-l6-v2";

const CHUNKERS = [
  { type: "recursive", label: "Recursive: by paragraphs, then sentences, then words" },
  { type: "sentence", label: "Sentences" },
  { type: "token", label: "Tokens: pieces of equal size" },
  { type: "word", label: "Words" },
  { type: "semantic", label: "Semantic: where the subject changes (embeds while cutting)" },
  { type: "sdpm", label: "Semantic, looking past digressions" },
] as const;

/** A new knowledge base, or a clone: the same tags with other settings. */
export function NewKnowledgeBase() {
  const [from] = useQueryState("from", parseAsString);
  const original = useQuery({ ...knowledgeBaseQuery(from ?? ""), enabled: from !== null });
  if (from !== null && original.error) {
    return (
      <>
        <PageHead title="New knowledge base" parent={PARENT} />
        <ErrorState error={original.error} retry={() => void original.refetch()} title="What is to be cloned could not be loaded" />
      </>
    );
  }
  return (
    <>
      <PageHead title={from === null ? "New knowledge base" : `Clone ${original.data?.name ?? ""}`} parent={PARENT} />
      <div className="min-h-0 flex-1 overflow-auto">
        {from !== null && !original.data ? <SkeletonBlock lines={8} /> : <CreateForm original={original.data} />}
      </div>
    </>
  );
}

/** How many documents have a tag of the set: the sum over single tags would count some twice. */
function matchingQuery(tagIds: readonly string[]) {
  return queryOptions({
    queryKey: ["documents", "list", "matching", ...tagIds],
    queryFn: async ({ signal }) => {
      const counts = await Promise.all(
        tagIds.map(async (tagId) => {
          const { total_count } = await answered(
            api.GET("/v0/orgs/{organization_id}/documents", {
              params: { path: organizationPath(), query: { tag_ids: tagId, limit: 1 } },
              signal,
            }),
          );
          return total_count;
        }),
      );
      return { least: Math.max(...counts), most: counts.reduce((sum, count) => sum + count, 0) };
    },
    enabled: tagIds.length > 0,
  });
}

function Matching({ tagIds }: { tagIds: readonly string[] }) {
  const { data } = useQuery(matchingQuery(tagIds));
  if (tagIds.length === 0) return <span className="text-text-3">Without a tag it stays empty. Tags can be added later.</span>;
  if (!data) return <span className="text-text-3">Counting documents…</span>;
  return (
    <span className="text-text-2" role="status">
      {data.least === data.most
        ? `${plural(data.most, "document")} match${data.most === 1 ? "es" : ""}`
        : `${data.least} to ${plural(data.most, "document")} match`}
    </span>
  );
}

function CreateForm({ original }: { original: KnowledgeBase | undefined }) {
  const router = useRouter();
  const client = useQueryClient();
  const { data: tagIndex } = useQuery(tagIndexQuery());
  const [name, setName] = useState(original ? `${original.name} (new settings)` : "");
  const [description, setDescription] = useState(original?.description ?? "");
  const [tagIds, setTagIds] = useState<string[]>(original?.tag_ids ?? []);
  const [model, setModel] = useState(original?.embedding_model ?? "");
  const [chunker, setChunker] = useState<string>(original?.chunker_type ?? "recursive");
  const [size, setSize] = useState(String(original?.chunk_size ?? 512));
  const [overlap, setOverlap] = useState(String(original?.chunk_overlap ?? 128));
  const [neighbours, setNeighbours] = useState(String(original?.coalesce_neighbors ?? 0));
  const create = useMutation({
    mutationFn: () =>
      answered(
        api.POST("/v0/orgs/{organization_id}/knowledge-bases", {
          params: { path: organizationPath() },
          body: {
            name: name.trim(),
            description,
            tag_ids: tagIds,
            chunker_type: chunker,
            chunk_size: Number(size),
            chunk_overlap: Number(overlap),
            coalesce_neighbors: Number(neighbours),
            ...(model.trim() && { embedding_model: model.trim() }),
          },
          headers: idempotencyKey(),
        }),
      ),
    onSuccess: async (made) => {
      await client.invalidateQueries({ queryKey: ["kbs"] });
      router.push(`/kbs/view/?id=${made.kb_id}`);
    },
  });
  const error = create.error;
  const general = formError(error, ["name", "description", "embedding_model", "chunker_type", "chunk_size", "chunk_overlap", "coalesce_neighbors"]);
  return (
    <form
      className="flex max-w-[640px] flex-col gap-5 p-4"
      onSubmit={(event) => {
        event.preventDefault();
        create.mutate();
      }}
    >
      {general && <Banner tone="failed">{general}</Banner>}
      <Field label="Name" error={error} field="name">
        <input className="field" required autoFocus maxLength={200} value={name} onChange={(event) => setName(event.target.value)} />
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
        <Matching tagIds={tagIds} />
      </div>
      <Field label="Description" error={error} field="description">
        <textarea className="field" rows={2} maxLength={5000} value={description} onChange={(event) => setDescription(event.target.value)} />
      </Field>
      <fieldset className="flex flex-col gap-4 border-t border-line pt-4">
        <legend className="sr-only">Fixed after creation</legend>
        <p className="text-text-2">
          What follows is fixed after creation. Other settings later? Clone it: what was embedded with the same model comes from the cache.
        </p>
        <ModelField model={model} setModel={setModel} error={error} />
        <Field label="Chunker" error={error} field="chunker_type">
          <select className="field" value={chunker} onChange={(event) => setChunker(event.target.value)}>
            {CHUNKERS.map(({ type, label }) => (
              <option key={type} value={type}>
                {label}
              </option>
            ))}
            {!CHUNKERS.some(({ type }) => type === chunker) && <option value={chunker}>{chunker}</option>}
          </select>
        </Field>
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label="Chunk size, tokens" error={error} field="chunk_size" hint="Smaller finds more exactly, larger says more.">
            <input className="field" type="number" min={1} max={8192} required value={size} onChange={(event) => setSize(event.target.value)} />
          </Field>
          <Field label="Overlap, tokens" error={error} field="chunk_overlap" hint="What a chunk repeats of the one before.">
            <input className="field" type="number" min={0} max={4096} required value={overlap} onChange={(event) => setOverlap(event.target.value)} />
          </Field>
        </div>
      </fieldset>
      <Field label="Neighbours with each hit" error={error} field="coalesce_neighbors" hint="Chunks before and after, for context. Can be changed at any time.">
        <input className="field max-w-[120px]" type="number" min={0} max={5} required value={neighbours} onChange={(event) => setNeighbours(event.target.value)} />
      </Field>
      <div className="flex gap-2">
        <button type="submit" className="button button-primary" disabled={create.isPending}>
          {create.isPending ? "Creating…" : "Create"}
        </button>
        <Link href="/kbs/" className="button">
          Cancel
        </Link>
      </div>
    </form>
  );
}

function ModelField({ model, setModel, error }: { model: string; setModel: (model: string) => void; error: unknown }) {
  const { data } = useQuery({
    queryKey: ["providers"],
    queryFn: ({ signal }) =>
      answered(api.GET("/v0/orgs/{organization_id}/llm-providers", { params: { path: organizationPath(), query: { limit: 100 } }, signal })),
  });
  const providers = data?.llm_providers.map((provider) => provider.litellm_provider) ?? [];
  return (
    <Field
      label="Embedding model"
      error={error}
      field="embedding_model"
      hint={
        providers.length > 0
          ? `Keys are set up for ${providers.join(", ")}. Left empty: the organization's default.`
          : "Left empty: the local English model, which needs no key. For others add a key under Settings, Providers."
      }
    >
      <input
        className="field"
        list="embedding-models"
        placeholder={providers.includes("openai") ? "text-embedding-3-small" : LOCAL_MODEL}
        maxLength={200}
        value={model}
        onChange={(event) => setModel(event.target.value)}
      />
      <datalist id="embedding-models">
        <option value={LOCAL_MODEL} />
        {providers.includes("openai") && <option value="text-embedding-3-small" />}
        {providers.includes("openai") && <option value="text-embedding-3-large" />}
      </datalist>
    </Field>
  );
}
