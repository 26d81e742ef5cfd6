"use client";

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { useState } from "react";

import { knowledgeBaseListQuery, knowledgeBaseQuery, tagIndexQuery } from "@/api/queries";
import { Field, FieldError, formError, Input, Textarea } from "@/components/ui/field";
import { Banner } from "@/components/state";
import { TagChip } from "@/components/tag-chip";
import { TagPicker } from "@/components/tag-picker";
import { Button } from "@/components/ui/button";
import { Select } from "@/components/ui/select";

import { type Draft, filterProblem } from "./draft";
import { ModelPicker } from "./model-picker";
import { SchemaEditor } from "./schema-editor";

const SHOWN = [
  "name",
  "text",
  "model",
  "kb_id",
  "metadata_filter",
  "temperature",
  "max_tokens",
  "max_iterations",
  "token_budget",
  "spu_budget",
  "tag_ids",
];

/** What a prompt is: its text, what it answers with, what it may search, and its limits. */
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
  /** Also called when the form is ready to be compared with what is stored. */
  onChange: (draft: Draft) => void;
  onSave: (draft: Draft, runsOnExisting: boolean) => void;
  /** What saving does to documents that are there already, where it has tags. */
  runsWord: string;
  children: (parts: { problem: string | null }) => React.ReactNode;
}) {
  const [draft, setDraft] = useState(initial);
  const [schemaProblem, setSchemaProblem] = useState<string | null>(null);
  const [isTold, setTold] = useState(false);
  const [runsOnExisting, setRunsOnExisting] = useState(false);
  const change = (part: Partial<Draft>) => {
    const changed = { ...draft, ...part };
    setDraft(changed);
    onChange(changed);
  };
  const badFilter = draft.kbId === null ? null : filterProblem(draft.filter);
  const problem = schemaProblem ?? badFilter;
  const general = formError(error, SHOWN);
  const isSchemaError =
    general !== null &&
    error instanceof Error &&
    "fields" in error &&
    (error.fields as { field: string }[]).some(({ field }) => field.startsWith("answer_schema"));
  return (
    <form
      className="flex max-w-[760px] flex-col gap-5 p-4"
      onSubmit={(event) => {
        event.preventDefault();
        setTold(true);
        if (problem === null) onSave(draft, runsOnExisting);
      }}
    >
      {general && !isSchemaError && <Banner tone="failed">{general} Your entries are still here.</Banner>}
      {isSchemaError && (
        <Banner tone="failed">The answer schema is not valid. The problems are shown below. Your entries are still here.</Banner>
      )}
      <Field label="Name" error={error} field="name">
        <Input required maxLength={200} value={draft.name} onChange={(event) => change({ name: event.target.value })} />
      </Field>
      <Field label="Text" error={error} field="text" hint="Instructions for the model. The document's text is added automatically.">
        <Textarea required rows={8} maxLength={100_000} value={draft.text} onChange={(event) => change({ text: event.target.value })} />
      </Field>
      <ModelPicker model={draft.model} onChange={(model) => change({ model })} error={error} needsTools={draft.kbId !== null} />
      <SchemaEditor
        schema={draft.schema}
        error={error}
        isTold={isTold}
        onChange={({ schema, problem: found }) => {
          setSchemaProblem(found);
          change({ schema });
        }}
      />
      <Tags tagIds={draft.tagIds} onChange={(tagIds) => change({ tagIds })} error={error} />
      {draft.tagIds.length > 0 && (
        <label className="flex min-h-6 items-start gap-2">
          <input type="checkbox" className="mt-1!" checked={runsOnExisting} onChange={(event) => setRunsOnExisting(event.target.checked)} />
          <span>
            {runsWord}
            <span className="block text-text-3">Each run costs model tokens, and SPUs for its searches.</span>
          </span>
        </label>
      )}
      <BaseField draft={draft} change={change} error={error} badFilter={isTold ? badFilter : null} />
      <Limits draft={draft} change={change} error={error} />
      {isTold && problem !== null && <Banner tone="failed">Not saved. {problem}</Banner>}
      <fieldset disabled={isSaving} className="contents">
        {children({ problem })}
      </fieldset>
    </form>
  );
}

interface Part {
  draft: Draft;
  change: (part: Partial<Draft>) => void;
  error: unknown;
}

function Tags({ tagIds, onChange, error }: { tagIds: readonly string[]; onChange: (tagIds: readonly string[]) => void; error: unknown }) {
  const { data: tagIndex } = useQuery(tagIndexQuery());
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
                <Button
                  variant="quiet"
                  size="small"
                  aria-label={`Remove tag ${tag.name}`}
                  onClick={() => onChange(tagIds.filter((other) => other !== id))}
                >
                  <X aria-hidden size={12} />
                </Button>
              </span>
            )
          );
        })}
        <TagPicker
          ticked={(id) => (tagIds.includes(id) ? "all" : "none")}
          onToggle={(tag, isOn) => onChange(isOn ? [...tagIds, tag.tag_id] : tagIds.filter((id) => id !== tag.tag_id))}
        >
          <Button size="small">
            <Plus aria-hidden size={13} /> Tag
          </Button>
        </TagPicker>
      </div>
      <span className="text-text-3">
        The prompt runs automatically on each new document with one of these tags. Without tags, start it yourself.
      </span>
      <FieldError error={error} field="tag_ids" />
    </div>
  );
}

function BaseField({ draft, change, error, badFilter }: Part & { badFilter: string | null }) {
  const [search, setSearch] = useState("");
  const { data } = useQuery({ ...knowledgeBaseListQuery(search.trim(), 100), placeholderData: keepPreviousData });
  const chosen = useQuery({ ...knowledgeBaseQuery(draft.kbId ?? ""), enabled: draft.kbId !== null });
  const bases = data?.knowledge_bases ?? [];
  const isListed = bases.some((base) => base.kb_id === draft.kbId);
  return (
    <div className="flex flex-col gap-4 border-t border-line pt-4">
      <Field
        label="Knowledge base"
        error={error}
        field="kb_id"
        hint="The model can search this knowledge base and cite the passages. Without one, the model sees only the document."
      >
        <Select value={draft.kbId ?? ""} onChange={(event) => change({ kbId: event.target.value || null })}>
          <option value="">None</option>
          {draft.kbId !== null && !isListed && <option value={draft.kbId}>{chosen.data?.name ?? "…"}</option>}
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
      {draft.kbId !== null && (
        <Field label="Search filter" error={error} field="metadata_filter" hint="Optional JSON. Limits every search of the model.">
          <Textarea
            className="font-mono text-xs!"
            rows={draft.filter === "" ? 1 : 4}
            spellCheck={false}
            placeholder='{"document_name": {"$eq": "prices.xlsx"}}'
            value={draft.filter}
            aria-invalid={badFilter !== null}
            onChange={(event) => change({ filter: event.target.value })}
          />
        </Field>
      )}
      {badFilter !== null && (
        <span role="alert" className="-mt-3 text-failed">
          {badFilter}
        </span>
      )}
    </div>
  );
}

function Limits({ draft, change, error }: Part) {
  return (
    <fieldset className="grid gap-4 border-t border-line pt-4 sm:grid-cols-2">
      <legend className="sr-only">Limits</legend>
      <Field
        label="Rounds"
        error={error}
        field="max_iterations"
        hint="Maximum number of model calls in a run. The model must answer in the last one."
      >
        <Input
          type="number"
          required
          min={1}
          max={20}
          value={draft.maxIterations}
          onChange={(event) => change({ maxIterations: event.target.value })}
        />
      </Field>
      <Field label="Temperature" error={error} field="temperature" hint="0 to 2. Leave empty for the model's default.">
        <Input
          type="number"
          min={0}
          max={2}
          step="any"
          value={draft.temperature}
          onChange={(event) => change({ temperature: event.target.value })}
        />
      </Field>
      <Field label="Token budget per run" error={error} field="token_budget" hint="Input and output together. Leave empty for no limit.">
        <Input
          type="number"
          min={100}
          max={100_000_000}
          value={draft.tokenBudget}
          onChange={(event) => change({ tokenBudget: event.target.value })}
        />
      </Field>
      <Field label="SPU budget per run" error={error} field="spu_budget" hint="For searches. Leave empty for no limit.">
        <Input
          type="number"
          min={0}
          max={1_000_000}
          value={draft.spuBudget}
          onChange={(event) => change({ spuBudget: event.target.value })}
        />
      </Field>
      <Field label="Tokens per answer" error={error} field="max_tokens" hint="Leave empty for the model's limit.">
        <Input
          type="number"
          min={1}
          max={1_000_000}
          value={draft.maxTokens}
          onChange={(event) => change({ maxTokens: event.target.value })}
        />
      </Field>
    </fieldset>
  );
}
