"use client";

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { useEffect, useState } from "react";
import { type Control, useController, type UseFormReturn, useWatch } from "react-hook-form";

import { knowledgeBaseListQuery, knowledgeBaseQuery, tagIndexQuery } from "@/api/queries";
import { Banner } from "@/components/state";
import { TagChip } from "@/components/tag-chip";
import { TagPicker } from "@/components/tag-picker";
import { Button } from "@/components/ui/button";
import { Field, Input } from "@/components/ui/field";
import { FieldProblem, Form, FormFailure, showFailure, TextareaField, TextField, useSchemaForm } from "@/components/ui/form";
import { Select } from "@/components/ui/select";

import { type Draft, schemaOf } from "./draft";
import { ModelPicker } from "./model-picker";
import { PROMPT_SCHEMA } from "./prompt-schema";
import { SchemaEditor } from "./schema-editor";

/** A prompt's text, answer, knowledge base, tags and limits. */
export function PromptForm({
  initial,
  error,
  isSaving,
  onChange,
  onSave,
  runsWord,
  children,
}: {
  initial: Draft;
  error: unknown;
  isSaving: boolean;
  onChange: (draft: Draft) => void;
  onSave: (draft: Draft) => void;
  /** The effect of saving on existing documents with the prompt's tags. */
  runsWord: string;
  children: React.ReactNode;
}) {
  const form = useSchemaForm(PROMPT_SCHEMA, initial);
  const { control, formState } = form;
  const [tagIds, kbId] = useWatch({ control, name: ["tag_ids", "kb_id"] });
  useEffect(() => form.subscribe({ formState: { values: true }, callback: ({ values }) => onChange(values) }), [form, onChange]);
  useEffect(() => {
    if (error instanceof Error) showFailure(form, error);
  }, [form, error]);
  const refusedSchema = formState.errors.answer_schema;
  return (
    <Form form={form} className="flex max-w-[760px] flex-col gap-5 p-4" onSubmit={onSave}>
      <FormFailure control={control} note="Your entries are still here." />
      {refusedSchema?.type === "server" && (
        <Banner tone="failed">The answer schema is not valid. The problems are shown below. Your entries are still here.</Banner>
      )}
      <TextField control={control} name="name" label="Name" required maxLength={200} />
      <TextareaField
        control={control}
        name="text"
        label="Text"
        hint="Instructions for the model. The document's text is added automatically."
        required
        rows={8}
        maxLength={100_000}
      />
      <ModelPicker control={control} needsTools={kbId !== null} />
      <Answer form={form} error={error} isTold={formState.submitCount > 0} />
      <Tags control={control} />
      {tagIds.length > 0 && <RunsOnExisting control={control} words={runsWord} />}
      <BaseField control={control} />
      <Limits control={control} />
      {refusedSchema && refusedSchema.type !== "server" && <Banner tone="failed">Not saved. {refusedSchema.message}</Banner>}
      <fieldset disabled={isSaving} className="contents">
        {children}
      </fieldset>
    </Form>
  );
}

interface Part {
  control: Control<Draft>;
}

function Answer({ form, error, isTold }: { form: UseFormReturn<Draft>; error: unknown; isTold: boolean }) {
  const { field } = useController({ control: form.control, name: "answer_schema" });
  return (
    <SchemaEditor
      schema={schemaOf({ answer_schema: field.value })}
      error={error}
      isTold={isTold}
      onChange={({ schema, problem }) => {
        form.setValue("schema_problem", problem ?? "");
        field.onChange(schema === null ? "" : JSON.stringify(schema));
      }}
    />
  );
}

function RunsOnExisting({ control, words }: Part & { words: string }) {
  const { value, ...field } = useController({ control, name: "runs_on_existing" }).field;
  return (
    <label className="flex min-h-6 items-start gap-2">
      <input type="checkbox" className="mt-1!" {...field} checked={value} />
      <span>
        {words}
        <span className="block text-text-3">Each run costs model tokens, and SPUs for its searches.</span>
      </span>
    </label>
  );
}

function Tags({ control }: Part) {
  const { data: tagIndex } = useQuery(tagIndexQuery());
  const { field } = useController({ control, name: "tag_ids" });
  const tagIds = field.value;
  const without = (id: string) => tagIds.filter((other) => other !== id);
  return (
    <div className="flex flex-col gap-1 border-t border-line pt-4">
      <span className="font-medium">Tags</span>
      <div className="flex flex-wrap items-center gap-2">
        {tagIds.map((id) => {
          const tag = tagIndex?.get(id);
          return (
            tag && (
              <span key={id} className="inline-flex items-center">
                <TagChip tag={tag} />
                <Button variant="quiet" size="small" aria-label={`Remove tag ${tag.name}`} onClick={() => field.onChange(without(id))}>
                  <X aria-hidden size={12} />
                </Button>
              </span>
            )
          );
        })}
        <TagPicker
          ticked={(id) => (tagIds.includes(id) ? "all" : "none")}
          onToggle={(tag, isOn) => field.onChange(isOn ? [...tagIds, tag.tag_id] : without(tag.tag_id))}
        >
          <Button size="small">
            <Plus aria-hidden size={13} /> Tag
          </Button>
        </TagPicker>
      </div>
      <span className="text-text-3">
        The prompt runs automatically on each new document with one of these tags. Without tags, start it yourself.
      </span>
      <FieldProblem control={control} name="tag_ids" />
    </div>
  );
}

function BaseField({ control }: Part) {
  const [search, setSearch] = useState("");
  const { field, fieldState } = useController({ control, name: "kb_id" });
  const filter = useWatch({ control, name: "metadata_filter" });
  const kbId = field.value;
  const { data } = useQuery({ ...knowledgeBaseListQuery(search.trim(), 100), placeholderData: keepPreviousData });
  const chosen = useQuery({ ...knowledgeBaseQuery(kbId ?? ""), enabled: kbId !== null });
  const bases = data?.knowledge_bases ?? [];
  const isListed = bases.some((base) => base.kb_id === kbId);
  return (
    <div className="flex flex-col gap-4 border-t border-line pt-4">
      <Field
        label="Knowledge base"
        problem={fieldState.error?.message}
        hint="The model can search this knowledge base and cite the passages. Without one, the model sees only the document."
      >
        <Select {...field} value={kbId ?? ""} onChange={(event) => field.onChange(event.target.value || null)}>
          <option value="">None</option>
          {kbId !== null && !isListed && <option value={kbId}>{chosen.data?.name ?? "…"}</option>}
          {bases.map((base) => (
            <option key={base.kb_id} value={base.kb_id}>
              {base.name}
            </option>
          ))}
        </Select>
      </Field>
      {data && (data.total_count > bases.length || search !== "") && (
        <Field isQuiet label="Find a knowledge base">
          <Input value={search} onChange={(event) => setSearch(event.target.value)} />
        </Field>
      )}
      {kbId !== null && (
        <TextareaField
          control={control}
          name="metadata_filter"
          label="Search filter"
          hint="Optional JSON. Limits every search of the model."
          className="font-mono text-xs!"
          rows={filter === "" ? 1 : 4}
          spellCheck={false}
          placeholder='{"document_name": {"$eq": "prices.xlsx"}}'
        />
      )}
    </div>
  );
}

function Limits({ control }: Part) {
  return (
    <fieldset className="grid gap-4 border-t border-line pt-4 sm:grid-cols-2">
      <legend className="sr-only">Limits</legend>
      <TextField
        control={control}
        name="max_iterations"
        label="Rounds"
        hint="Maximum number of model calls in a run. The model must answer in the last one."
        type="number"
        required
        min={1}
        max={20}
      />
      <TextField
        control={control}
        name="temperature"
        label="Temperature"
        hint="0 to 2. Leave empty for the model's default."
        type="number"
        min={0}
        max={2}
        step="any"
      />
      <TextField
        control={control}
        name="token_budget"
        label="Token budget per run"
        hint="Input and output together. Leave empty for no limit."
        type="number"
        min={100}
        max={100_000_000}
      />
      <TextField
        control={control}
        name="spu_budget"
        label="SPU budget per run"
        hint="For searches. Leave empty for no limit."
        type="number"
        min={0}
        max={1_000_000}
      />
      <TextField
        control={control}
        name="max_tokens"
        label="Tokens per answer"
        hint="Leave empty for the model's limit."
        type="number"
        min={1}
        max={1_000_000}
      />
    </fieldset>
  );
}
