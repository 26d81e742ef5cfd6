"use client";

import { useState } from "react";

import { ApiError } from "@/api/errors";
import { Button } from "@/components/ui/button";
import { Field, Textarea } from "@/components/ui/field";

import {
  emptyGroup,
  fieldAt,
  isObject,
  type JsonObject,
  newField,
  placesOf,
  problemsOf,
  readSchema,
  type SchemaField,
  type SchemaGroup,
  writeSchema,
} from "./answer-schema";

import { SchemaBuilder } from "./schema-builder";

type View = "fields" | "json";
const PLACE = "answer_schema";

export interface EditedSchema {
  schema: JsonObject | null;
  /** Why it cannot be saved as it stands. */
  problem: string | null;
}

/** What answers look like: free text, or fields by a builder or as JSON; both views are of one schema. */
export function SchemaEditor({
  schema,
  onChange,
  error,
  isTold,
}: {
  schema: JsonObject | null;
  onChange: (edited: EditedSchema) => void;
  error: unknown;
  /** Problems of untouched fields are shown after the first attempt to save. */
  isTold: boolean;
}) {
  const [view, setView] = useState<View>(() => (schema !== null && "reason" in readSchema(schema) ? "json" : "fields"));
  const [group, setGroup] = useState<SchemaGroup | null>(() => groupOf(schema));
  const [text, setText] = useState(() => JSON.stringify(schema ?? {}, null, 2));
  const parsed = parse(text);
  const isFree = schema === null;

  const begin = (isStructured: boolean) => {
    const begun = isStructured ? { ...emptyGroup(), fields: [newField()] } : null;
    setGroup(begun);
    setView("fields");
    onChange({ schema: begun && writeSchema(begun), problem: begun && firstProblem(begun) });
  };
  const editFields = (changed: SchemaGroup) => {
    setGroup(changed);
    onChange({ schema: writeSchema(changed), problem: firstProblem(changed) });
  };
  const editText = (changed: string) => {
    setText(changed);
    const read = parse(changed);
    onChange(typeof read === "string" ? { schema, problem: read } : { schema: read, problem: null });
  };
  const show = (wanted: View) => {
    if (wanted === "json") setText(JSON.stringify(schema, null, 2));
    else setGroup(groupOf(schema));
    setView(wanted);
  };

  return (
    <fieldset className="flex flex-col gap-3 border-t border-line pt-4">
      <legend className="sr-only">Answer</legend>
      <div className="flex flex-wrap items-center gap-x-5 gap-y-2">
        <span className="font-medium">Answer</span>
        <label className="flex min-h-6 items-center gap-2">
          <input type="radio" name="answer-form" checked={isFree} onChange={() => begin(false)} /> A text
        </label>
        <label className="flex min-h-6 items-center gap-2">
          <input type="radio" name="answer-form" checked={!isFree} onChange={() => begin(true)} /> Fields
        </label>
      </div>
      {!isFree && (
        <>
          <div role="group" aria-label="View of the schema" className="flex gap-1">
            {(["fields", "json"] as const).map((name) => (
              <Button
                key={name}
                type="button"
                size="small"
                variant={view === name ? "plain" : "quiet"}
                className={view === name ? "bg-selected! font-semibold" : ""}
                aria-pressed={view === name}
                disabled={name === "fields" && view === "json" && typeof parsed === "string"}
                onClick={() => view !== name && show(name)}
              >
                {name === "fields" ? "Builder" : "JSON"}
              </Button>
            ))}
          </div>
          <SchemaErrors error={error} group={view === "fields" ? group : null} />
          {view === "json" ? (
            <JsonView text={text} problem={typeof parsed === "string" ? parsed : null} onChange={editText} />
          ) : group === null ? (
            <p className="text-text-2">{notShown(schema)}</p>
          ) : (
            <SchemaBuilder group={group} onChange={editFields} problemOf={(field) => problemOf(group, field, error, isTold)} />
          )}
        </>
      )}
    </fieldset>
  );
}

function JsonView({ text, problem, onChange }: { text: string; problem: string | null; onChange: (text: string) => void }) {
  return (
    <Field isQuiet label="JSON schema of an object">
      <Textarea
        className="font-mono text-xs!"
        rows={16}
        spellCheck={false}
        value={text}
        aria-invalid={problem !== null}
        onChange={(event) => onChange(event.target.value)}
      />
      {problem !== null && (
        <span role="alert" className="text-failed">
          {problem}
        </span>
      )}
    </Field>
  );
}

function groupOf(schema: JsonObject | null): SchemaGroup | null {
  const read = schema === null ? null : readSchema(schema);
  return read !== null && "group" in read ? read.group : null;
}

function notShown(schema: JsonObject): string {
  const read = readSchema(schema);
  return "reason" in read ? `The builder cannot show ${read.reason}. Change this schema as JSON.` : "";
}

/** The schema, or why the text is none. */
function parse(text: string): JsonObject | string {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : "A schema is a JSON object.";
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : "it cannot be read"}`;
  }
}

function firstProblem(group: SchemaGroup): string | null {
  if (group.fields.length === 0) return "An answer needs at least one field.";
  return problemsOf(group).values().next().value ?? null;
}

function reportsOf(error: unknown): readonly { field: string; reason: string }[] {
  return error instanceof ApiError ? error.fields.filter(({ field }) => field.startsWith(PLACE)) : [];
}

function problemOf(group: SchemaGroup, field: SchemaField, error: unknown, isTold: boolean): string | null {
  const places = placesOf(group, PLACE);
  const reported = reportsOf(error).find((report) => fieldAt(places, report.field) === field.key);
  if (reported) return reported.reason;
  const own = problemsOf(group).get(field.key) ?? null;
  // A name that is not typed yet is no news; two of a name are.
  return own !== null && (isTold || field.name !== "") ? own : null;
}

/** What the server says of the schema that no shown field can tell. */
function SchemaErrors({ error, group }: { error: unknown; group: SchemaGroup | null }) {
  const places = group === null ? new Map<number, string>() : placesOf(group, PLACE);
  const others = reportsOf(error).filter(({ field }) => fieldAt(places, field) === null);
  return others.map(({ field, reason }) => (
    <span key={field} role="alert" className="text-failed">
      <span className="font-mono break-words">{field}</span>: {reason}
    </span>
  ));
}
