"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import dynamic from "next/dynamic";
import { useRouter } from "next/navigation";
import { useState } from "react";
import { useWatch } from "react-hook-form";

import { answered, api, idempotencyKey, organizationPath, type Schemas } from "@/api/client";
import { kbKeys } from "@/api/keys";
import type { KnowledgeBase } from "@/api/queries";
import { Button, ButtonLink } from "@/components/ui/button";
import { Form, FormFailure, SelectField, showFailure, TextField, useSchemaForm } from "@/components/ui/form";
import { plural } from "@/lib/format";
import { useDebounced } from "@/state/use-debounced";

import { BaseFields, type BaseValues, bodyOf, CREATE_SCHEMA, valuesOf } from "./base-fields";
import { ForecastPanel } from "./forecast-panel";
import { cutsBySection, GranularityFields } from "./granularity-fields";
import { ModelField } from "./model-field";
import { forecastQuery, problemOf } from "./queries";
import { metadataKeys } from "./searched-metadata";

// Loaded when it is opened.
const ChunkPreview = dynamic(() => import("./chunk-preview"), { ssr: false });

/** A forecast follows what is typed once it rests for so long. */
const SETTLE_MILLISECONDS = 400;

const CHUNKERS = [
  { type: "auto", label: "Automatic: sections, table rows and functions" },
  { type: "recursive", label: "Recursive: by paragraph, then sentence, then word" },
  { type: "section", label: "Sections: by heading" },
  { type: "row", label: "Table rows" },
  { type: "code", label: "Code: functions and classes" },
  { type: "page", label: "Pages, slides and sheets" },
  { type: "qa", label: "Questions with their answers" },
  { type: "sentence", label: "Sentences" },
  { type: "token", label: "Tokens: pieces of equal length" },
  { type: "word", label: "Words" },
  { type: "semantic", label: "Semantic: where the topic changes (creates embeddings)" },
  { type: "sdpm", label: "Semantic, ignoring digressions" },
] as const;

function Matching({ forecast, isSettling }: { forecast: Schemas["ForecastBody"]; isSettling: boolean }) {
  const { data, isPlaceholderData } = useQuery(forecastQuery(forecast));
  if (forecast.tag_ids.length === 0)
    return <span className="text-text-3">Without tags the knowledge base stays empty. You can add tags later.</span>;
  if (problemOf(forecast) !== null) return null;
  if (!data || isSettling || isPlaceholderData) return <span className="text-text-3">Counting documents…</span>;
  const count = data.document_count + data.unknown_document_count;
  return (
    <span className="text-text-2" role="status">
      {plural(count, "document")} {count === 1 ? "matches" : "match"}
    </span>
  );
}

/** What cannot be changed after creation, as the API takes it. */
function fixedOf(values: Fixed) {
  const model = values.embedding_model.trim();
  return {
    chunker_type: values.chunker_type,
    chunk_size: Number(values.chunk_size),
    chunk_overlap: Number(values.chunk_overlap),
    section_level: cutsBySection(values.chunker_type) ? Number(values.section_level) : 0,
    index_types: values.index_types,
    context: true,
    searched_metadata: metadataKeys(values.searched_metadata),
    ...(model && { embedding_model: model }),
  };
}

type Fixed = Pick<
  BaseValues,
  "embedding_model" | "chunker_type" | "chunk_size" | "chunk_overlap" | "section_level" | "index_types" | "searched_metadata"
>;

/** Creates a knowledge base, with a forecast of what indexing costs. */
export function CreateForm({ original }: { original: KnowledgeBase | undefined }) {
  const router = useRouter();
  const [isPreviewing, setPreviewing] = useState(false);
  const client = useQueryClient();
  const values = valuesOf(original);
  const form = useSchemaForm(CREATE_SCHEMA, original ? { ...values, name: `${original.name} (new settings)` } : values);
  const { control } = form;
  const tagIds = useWatch({ control, name: "tag_ids" });
  const [embedding_model, chunker, chunk_size, chunk_overlap, section_level, index_types, searched_metadata] = useWatch({
    control,
    name: ["embedding_model", "chunker_type", "chunk_size", "chunk_overlap", "section_level", "index_types", "searched_metadata"],
  });
  const chosen = { embedding_model, chunker_type: chunker, chunk_size, chunk_overlap, section_level, index_types, searched_metadata };
  const asked = JSON.stringify({ tag_ids: tagIds, ...fixedOf(chosen) });
  const settled = useDebounced(asked, SETTLE_MILLISECONDS);
  const forecast = JSON.parse(settled) as Schemas["ForecastBody"];
  const create = useMutation({
    mutationFn: (values: BaseValues) =>
      answered(
        api.POST("/v0/orgs/{organization_id}/knowledge-bases", {
          params: { path: organizationPath() },
          body: {
            ...bodyOf(values),
            ...fixedOf(values),
          },
          headers: idempotencyKey(),
        }),
      ),
    onSuccess: async (made) => {
      await client.invalidateQueries({ queryKey: kbKeys.all });
      router.push(`/kbs/view/?id=${made.kb_id}`);
    },
    onError: (error) => showFailure(form, error),
  });
  return (
    <div className="grid max-w-[1040px] gap-6 p-4 lg:grid-cols-[minmax(0,640px)_minmax(0,1fr)] lg:items-start">
      <Form form={form} className="flex flex-col gap-5" onSubmit={(values) => create.mutate(values)}>
        <FormFailure control={control} note="Your entries are still here." />
        <BaseFields control={control} tagNote={<Matching forecast={forecast} isSettling={asked !== settled} />} isFresh />
        <TextField
          control={control}
          name="searched_metadata"
          label="Searched metadata"
          hint="Keys, separated by commas: customer, contract_number. A question that names a value finds its documents. A change indexes all documents again."
          maxLength={2000}
        />
        <fieldset className="flex flex-col gap-4 border-t border-line pt-4">
          <legend className="sr-only">Fixed after creation</legend>
          <p className="text-text-2">
            <strong className="font-semibold">Fixed after creation.</strong> To use other settings later, clone the knowledge base: texts
            embedded with the same model come from the cache.
          </p>
          <ModelField control={control} />
          <SelectField control={control} name="chunker_type" label="Chunker">
            {CHUNKERS.map(({ type, label }) => (
              <option key={type} value={type}>
                {label}
              </option>
            ))}
            {!CHUNKERS.some(({ type }) => type === chunker) && <option value={chunker}>{chunker}</option>}
          </SelectField>
          <div className="grid gap-4 sm:grid-cols-2">
            <TextField
              control={control}
              name="chunk_size"
              label="Chunk size, tokens"
              hint="Smaller chunks match more precisely, larger ones carry more context."
              type="number"
              min={4}
              max={8192}
              required
            />
            <TextField
              control={control}
              name="chunk_overlap"
              label="Overlap, tokens"
              hint="Text repeated from the previous chunk."
              type="number"
              min={0}
              max={4096}
              required
            />
          </div>
          <GranularityFields control={control} chunker={chunker} />
          <Button className="self-start" onClick={() => setPreviewing(true)}>
            Preview chunks
          </Button>
          {isPreviewing && <ChunkPreview chunking={fixedOf(chosen)} onClose={() => setPreviewing(false)} />}
        </fieldset>
        <div className="flex gap-2">
          <Button type="submit" variant="primary" disabled={create.isPending}>
            {create.isPending ? "Creating…" : "Create"}
          </Button>
          <ButtonLink href="/kbs/">Cancel</ButtonLink>
        </div>
      </Form>
      <ForecastPanel body={forecast} isSettling={asked !== settled} />
    </div>
  );
}
