"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { parseAsString, useQueryState } from "nuqs";
import { useState } from "react";

import { answered, api, idempotencyKey, organizationPath, type Schemas } from "@/api/client";
import { type KnowledgeBase, knowledgeBaseQuery } from "@/api/queries";
import { kbKeys } from "@/api/keys";
import { ErrorState, SkeletonBlock } from "@/components/feedback";
import { Field, formError, Input } from "@/components/ui/field";
import { OnlyWhoMay } from "@/components/may";
import { PageHead } from "@/components/page-head";
import { Banner } from "@/components/state";
import { Button, ButtonLink } from "@/components/ui/button";
import { Select } from "@/components/ui/select";
import { plural } from "@/lib/format";
import { useDebounced } from "@/state/use-debounced";

import { BASE_FIELDS, BaseFields, bodyOf, fieldsOf } from "./base-fields";
import { ForecastPanel } from "./forecast-panel";
import { ModelField } from "./model-field";
import { forecastQuery, problemOf } from "./queries";

const PARENT = { href: "/kbs/", label: "Knowledge bases" };
/** A forecast follows what is typed once it rests for so long. */
const SETTLE_MILLISECONDS = 400;

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
        <OnlyWhoMay to="create_knowledge_base" what="make knowledge bases">
          {from !== null && !original.data ? <SkeletonBlock lines={8} /> : <CreateForm original={original.data} />}
        </OnlyWhoMay>
      </div>
    </>
  );
}

function Matching({ forecast, isSettling }: { forecast: Schemas["ForecastBody"]; isSettling: boolean }) {
  const { data, isPlaceholderData } = useQuery(forecastQuery(forecast));
  if (forecast.tag_ids.length === 0) return <span className="text-text-3">Without a tag it stays empty. Tags can be added later.</span>;
  if (problemOf(forecast) !== null) return null;
  if (!data || isSettling || isPlaceholderData) return <span className="text-text-3">Counting documents…</span>;
  const count = data.document_count + data.unknown_document_count;
  return (
    <span className="text-text-2" role="status">
      {plural(count, "document")} {count === 1 ? "matches" : "match"}
    </span>
  );
}

function CreateForm({ original }: { original: KnowledgeBase | undefined }) {
  const router = useRouter();
  const client = useQueryClient();
  const [values, setValues] = useState(() => {
    const fields = fieldsOf(original);
    return original ? { ...fields, name: `${original.name} (new settings)` } : fields;
  });
  const [model, setModel] = useState(original?.embedding_model ?? "");
  const [chunker, setChunker] = useState<string>(original?.chunker_type ?? "recursive");
  const [size, setSize] = useState(String(original?.chunk_size ?? 512));
  const [overlap, setOverlap] = useState(String(original?.chunk_overlap ?? 128));
  const fixed = {
    chunker_type: chunker,
    chunk_size: Number(size),
    chunk_overlap: Number(overlap),
    ...(model.trim() && { embedding_model: model.trim() }),
  };
  const asked = JSON.stringify({ tag_ids: values.tagIds, ...fixed });
  const settled = useDebounced(asked, SETTLE_MILLISECONDS);
  const forecast = JSON.parse(settled) as Schemas["ForecastBody"];
  const create = useMutation({
    mutationFn: () =>
      answered(
        api.POST("/v0/orgs/{organization_id}/knowledge-bases", {
          params: { path: organizationPath() },
          body: { ...bodyOf(values), ...fixed },
          headers: idempotencyKey(),
        }),
      ),
    onSuccess: async (made) => {
      await client.invalidateQueries({ queryKey: kbKeys.all });
      router.push(`/kbs/view/?id=${made.kb_id}`);
    },
  });
  const error = create.error;
  const general = formError(error, [...BASE_FIELDS, "embedding_model", "chunker_type", "chunk_size", "chunk_overlap"]);
  return (
    <div className="grid max-w-[1040px] gap-6 p-4 lg:grid-cols-[minmax(0,640px)_minmax(0,1fr)] lg:items-start">
      <form
        className="flex flex-col gap-5"
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate();
        }}
      >
        {general && <Banner tone="failed">{general}</Banner>}
        <BaseFields
          values={values}
          onChange={setValues}
          error={error}
          tagNote={<Matching forecast={forecast} isSettling={asked !== settled} />}
          isFresh
        />
        <fieldset className="flex flex-col gap-4 border-t border-line pt-4">
          <legend className="sr-only">Fixed after creation</legend>
          <p className="text-text-2">
            <strong className="font-semibold">Fixed after creation.</strong> Other settings later? Clone it: what was embedded with the same
            model comes from the cache.
          </p>
          <ModelField model={model} setModel={setModel} error={error} />
          <Field label="Chunker" error={error} field="chunker_type">
            <Select value={chunker} onChange={(event) => setChunker(event.target.value)}>
              {CHUNKERS.map(({ type, label }) => (
                <option key={type} value={type}>
                  {label}
                </option>
              ))}
              {!CHUNKERS.some(({ type }) => type === chunker) && <option value={chunker}>{chunker}</option>}
            </Select>
          </Field>
          <div className="grid gap-4 sm:grid-cols-2">
            <Field label="Chunk size, tokens" error={error} field="chunk_size" hint="Smaller finds more exactly, larger says more.">
              <Input type="number" min={1} max={8192} required value={size} onChange={(event) => setSize(event.target.value)} />
            </Field>
            <Field label="Overlap, tokens" error={error} field="chunk_overlap" hint="What a chunk repeats of the one before.">
              <Input type="number" min={0} max={4096} required value={overlap} onChange={(event) => setOverlap(event.target.value)} />
            </Field>
          </div>
        </fieldset>
        <div className="flex gap-2">
          <Button type="submit" variant="primary" disabled={create.isPending}>
            {create.isPending ? "Creating…" : "Create"}
          </Button>
          <ButtonLink href="/kbs/">Cancel</ButtonLink>
        </div>
      </form>
      <ForecastPanel body={forecast} isSettling={asked !== settled} />
    </div>
  );
}
