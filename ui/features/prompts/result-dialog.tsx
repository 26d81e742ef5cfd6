"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { BadgeCheck } from "lucide-react";
import Link from "next/link";
import { useState } from "react";
import { toast } from "sonner";

import { answered, api, organizationPath, type Schemas } from "@/api/client";
import { ApiError } from "@/api/errors";
import { documentQuery } from "@/api/queries";
import { Dialog } from "@/components/ui/dialog";
import { ErrorState, SkeletonBlock } from "@/components/feedback";
import { Banner } from "@/components/state";
import { Time } from "@/components/time";
import { Button } from "@/components/ui/button";
import { Input, Textarea } from "@/components/ui/field";
import { Select } from "@/components/ui/select";
import { useMay } from "@/state/permissions";

import { isObject, type Json, type JsonObject } from "./answer-schema";
import { columnsOf, type Input as Kind, inputOf, read, shortly, typed, valueAt } from "./answer-values";
import { AnswerView } from "./answer-view";
import { type Prompt, type PromptVersion, type Result, resultKeys, resultQuery } from "./queries";
import { ResultMark } from "./result-mark";

/** One result: its fields to correct, its verification, and what it was before. */
export function ResultDialog({
  prompt,
  version,
  documentId,
  onClose,
}: {
  prompt: Prompt;
  version: PromptVersion;
  documentId: string;
  onClose: () => void;
}) {
  const document = useQuery({ ...documentQuery(documentId), retry: false });
  const { data, error, refetch } = useQuery(resultQuery(prompt.prompt_id, version.version, documentId));
  const title = document.data?.document_name ?? "Result";
  if (!data) {
    return (
      <Dialog open wide onOpenChange={(isOpen) => !isOpen && onClose()} title={title}>
        {error ? <ErrorState error={error} retry={() => void refetch()} /> : <SkeletonBlock lines={4} />}
      </Dialog>
    );
  }
  return <Editor key={data.run_id} result={data} version={version} title={title} onClose={onClose} reload={() => void refetch()} />;
}

interface Edited {
  /** The whole answer with what was typed; undefined where something cannot be read. */
  answer: Json | undefined;
  problems: ReadonlyMap<string, string>;
}

function editedAnswer(result: Result, schema: JsonObject | null, texts: ReadonlyMap<string, string>): Edited {
  const problems = new Map<string, string>();
  if (schema === null) return { answer: texts.get("Answer") ?? (result.answer as Json), problems };
  const answer: JsonObject = { ...(isObject(result.answer) ? result.answer : {}) };
  for (const column of columnsOf(schema)) {
    const text = texts.get(column.label);
    if (text === undefined || column.field === null) continue;
    const value = read(text, inputOf(schema, column.field), !(column.field in answer));
    if ("problem" in value) problems.set(column.label, value.problem);
    else if (value.value === undefined) delete answer[column.field];
    else answer[column.field] = value.value;
  }
  return { answer: problems.size > 0 ? undefined : answer, problems };
}

function Editor({
  result,
  version,
  title,
  onClose,
  reload,
}: {
  result: Result;
  version: PromptVersion;
  title: string;
  onClose: () => void;
  reload: () => void;
}) {
  const client = useQueryClient();
  const mayChange = useMay("update_prompt_result");
  const schema = version.answer_schema as JsonObject | null;
  const [texts, setTexts] = useState<ReadonlyMap<string, string>>(new Map());
  const { answer, problems } = editedAnswer(result, schema, texts);
  const isChanged = texts.size > 0 && (answer === undefined || JSON.stringify(answer) !== JSON.stringify(result.answer));
  const save = useMutation({
    mutationFn: (body: Schemas["PromptResultUpdate"]) =>
      answered(
        api.PUT("/v0/orgs/{organization_id}/prompts/{prompt_id}/results/{document_id}", {
          params: {
            path: { ...organizationPath(), prompt_id: result.prompt_id, document_id: result.document_id },
            query: { version: result.version },
          },
          body: { ...body, run_id: result.run_id },
        }),
      ),
    onSuccess: async (saved, body) => {
      toast(
        body.is_verified === true ? "Verified" : body.is_verified === false && body.answer === undefined ? "No longer verified" : "Saved",
      );
      setTexts(new Map());
      client.setQueryData(resultKeys.one(saved.prompt_id, saved.version, saved.document_id), saved);
      await client.invalidateQueries({ queryKey: resultKeys.all });
    },
  });
  const change = (isVerified: boolean | null) =>
    save.mutate({
      ...(isChanged && answer !== undefined && { answer }),
      ...(isVerified !== null && { is_verified: isVerified }),
    });
  const isBlocked = save.isPending || problems.size > 0;
  const isReplaced = save.error instanceof ApiError && save.error.code === "result_replaced";
  return (
    <Dialog
      open
      wide
      onOpenChange={(isOpen) => !isOpen && onClose()}
      title={title}
      footer={
        mayChange && (
          <>
            {isChanged && (
              <Button disabled={isBlocked} onClick={() => change(null)}>
                Save without verifying
              </Button>
            )}
            {result.is_verified && !isChanged ? (
              <Button disabled={save.isPending} onClick={() => change(false)}>
                Remove verification
              </Button>
            ) : (
              <Button variant="primary" disabled={isBlocked} onClick={() => change(true)}>
                <BadgeCheck aria-hidden size={14} /> {isChanged ? "Save and verify" : "Verify"}
              </Button>
            )}
          </>
        )
      }
    >
      <div className="flex flex-col gap-4">
        <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
          <ResultMark result={result} />
          <Link className="text-link hover:underline" href={`/documents/view/?id=${result.document_id}`}>
            Open the document
          </Link>
          <Link className="text-link hover:underline" href={`/prompts/run/?id=${result.run_id}`}>
            Show the run
          </Link>
        </div>
        {save.error && (
          <Banner tone="failed">
            {save.error.message}{" "}
            {isReplaced ? (
              <button type="button" className="underline" onClick={reload}>
                Show the new answer
              </button>
            ) : (
              "What you typed is still here."
            )}
          </Banner>
        )}
        {columnsOf(schema).map((column) => (
          <ValueField
            key={column.label}
            label={column.label}
            input={inputOf(schema, column.field)}
            value={valueAt(result.answer, column)}
            text={texts.get(column.label)}
            problem={problems.get(column.label) ?? null}
            isReadOnly={!mayChange}
            onChange={(text) => setTexts(new Map([...texts, [column.label, text]]))}
          />
        ))}
        <Earlier result={result} />
      </div>
    </Dialog>
  );
}

function ValueField({
  label,
  input,
  value,
  text,
  problem,
  isReadOnly,
  onChange,
}: {
  label: string;
  input: Kind;
  value: Json | undefined;
  text: string | undefined;
  problem: string | null;
  isReadOnly: boolean;
  onChange: (text: string) => void;
}) {
  const shown = text ?? typed(value, input);
  const common = { value: shown, disabled: isReadOnly, "aria-invalid": problem !== null };
  const rows = Math.min(12, Math.max(1, shown.split("\n").length, Math.ceil(shown.length / 80)));
  return (
    <label className="flex flex-col gap-1">
      <span className="font-mono text-xs/5 break-words">{label}</span>
      {input.kind === "choice" ? (
        <Select {...common} onChange={(event) => onChange(event.target.value)}>
          {value === undefined && <option value="">left out</option>}
          {input.choices.map((choice) => (
            <option key={JSON.stringify(choice)} value={JSON.stringify(choice)}>
              {choice === null ? "nothing" : shortly(choice)}
            </option>
          ))}
        </Select>
      ) : input.kind === "number" ? (
        <Input {...common} inputMode="decimal" onChange={(event) => onChange(event.target.value)} />
      ) : (
        <Textarea
          {...common}
          className={input.kind === "json" ? "font-mono text-xs!" : ""}
          rows={rows}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
      {input.kind === "json" && !isReadOnly && <span className="text-text-3">As JSON</span>}
      {problem !== null && (
        <span role="alert" className="text-failed">
          {problem}
        </span>
      )}
    </label>
  );
}

/** What people had edited or verified before later runs replaced it, latest first. */
function Earlier({ result }: { result: Result }) {
  if (result.earlier.length === 0) return null;
  return (
    <details>
      <summary className="font-semibold">Earlier answers ({result.earlier.length})</summary>
      <ol className="mt-2 flex flex-col gap-3">
        {[...result.earlier].reverse().map((earlier, place) => (
          <li key={place} className="flex flex-col gap-2">
            <span className="flex flex-wrap items-center gap-x-3 text-text-2">
              <ResultMark result={earlier} /> replaced <Time at={earlier.replaced_at} />
            </span>
            <AnswerView answer={earlier.answer} />
          </li>
        ))}
      </ol>
    </details>
  );
}
