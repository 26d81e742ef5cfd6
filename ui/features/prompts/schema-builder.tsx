"use client";

import { ChevronDown, ChevronUp, Plus, Trash2 } from "lucide-react";
import { useId } from "react";

import { Button } from "@/components/ui/button";
import { Field, Input, Textarea } from "@/components/ui/field";
import { Select } from "@/components/ui/select";

import { emptyGroup, type FieldKind, KINDS, newField, type SchemaField, type SchemaGroup } from "./answer-schema";

/** Deeper ones are written as JSON: on a phone there is no room for more. */
const MOST_NESTED = 4;

/** The fields of an answer, each with its type; groups hold fields of their own. */
export function SchemaBuilder({
  group,
  onChange,
  problemOf,
  depth = 0,
}: {
  group: SchemaGroup;
  onChange: (group: SchemaGroup) => void;
  problemOf: (field: SchemaField) => string | null;
  depth?: number;
}) {
  const { fields } = group;
  const setFields = (changed: readonly SchemaField[]) => onChange({ ...group, fields: changed });
  const move = (from: number, to: number) => {
    const moved = [...fields];
    const [field] = moved.splice(from, 1);
    if (field) moved.splice(to, 0, field);
    setFields(moved);
  };
  return (
    <div className={`flex flex-col gap-3 ${depth > 0 ? "border-l-2 border-line pl-3" : ""}`}>
      {fields.length > 0 && (
        <ol className="flex flex-col gap-3" aria-label={depth === 0 ? "Fields of the answer" : "Fields of the group"}>
          {fields.map((field, place) => (
            <FieldRow
              key={field.key}
              field={field}
              depth={depth}
              problemOf={problemOf}
              onChange={(changed) => setFields(fields.map((other) => (other.key === field.key ? changed : other)))}
              onRemove={() => setFields(fields.filter((other) => other.key !== field.key))}
              onUp={place === 0 ? null : () => move(place, place - 1)}
              onDown={place === fields.length - 1 ? null : () => move(place, place + 1)}
            />
          ))}
        </ol>
      )}
      <Button size="small" className="self-start" onClick={() => setFields([...fields, newField()])}>
        <Plus aria-hidden size={13} /> {depth === 0 ? "Add a field" : "Add a field to the group"}
      </Button>
    </div>
  );
}

function FieldRow({
  field,
  depth,
  problemOf,
  onChange,
  onRemove,
  onUp,
  onDown,
}: {
  field: SchemaField;
  depth: number;
  problemOf: (field: SchemaField) => string | null;
  onChange: (field: SchemaField) => void;
  onRemove: () => void;
  onUp: (() => void) | null;
  onDown: (() => void) | null;
}) {
  const problemId = useId();
  const problem = problemOf(field);
  const called = field.name.trim() || "the field";
  const kinds = KINDS.filter((kind) => kind !== "group" || depth < MOST_NESTED || field.kind === "group");
  const setKind = (kind: FieldKind) =>
    // What else the schema says of the value holds for its old type only.
    onChange({ ...field, kind, rest: {}, group: kind === "group" ? { ...emptyGroup(), fields: [newField()] } : null });
  return (
    <li className="flex flex-col gap-2 rounded-lg border border-line bg-surface p-3">
      <div className="grid grid-cols-1 gap-2 sm:grid-cols-[minmax(0,1fr)_150px_auto]">
        <label className="flex min-w-0 flex-col gap-1">
          <span className="text-text-2">Field name</span>
          <Input
            className="font-mono"
            value={field.name}
            maxLength={200}
            placeholder="due_date"
            aria-invalid={problem !== null}
            aria-describedby={problem === null ? undefined : problemId}
            onChange={(event) => onChange({ ...field, name: event.target.value })}
          />
        </label>
        <Field isQuiet label="Type">
          <Select value={field.kind} onChange={(event) => setKind(event.target.value as FieldKind)}>
            {kinds.map((kind) => (
              <option key={kind} value={kind}>
                {kind}
              </option>
            ))}
          </Select>
        </Field>
        <div className="flex items-end">
          <Button variant="quiet" isIcon aria-label={`Move ${called} up`} disabled={onUp === null} onClick={onUp ?? undefined}>
            <ChevronUp aria-hidden size={15} />
          </Button>
          <Button variant="quiet" isIcon aria-label={`Move ${called} down`} disabled={onDown === null} onClick={onDown ?? undefined}>
            <ChevronDown aria-hidden size={15} />
          </Button>
          <Button variant="quiet" isIcon className="text-failed" aria-label={`Remove ${called}`} onClick={onRemove}>
            <Trash2 aria-hidden size={15} />
          </Button>
        </div>
      </div>
      {problem !== null && (
        <span id={problemId} role="alert" className="text-failed">
          {problem}
        </span>
      )}
      <Field isQuiet label="Description for the model">
        <Input value={field.description} maxLength={2_000} onChange={(event) => onChange({ ...field, description: event.target.value })} />
      </Field>
      {field.kind === "choice" && <Choices field={field} onChange={onChange} />}
      <div className="flex flex-wrap gap-x-5 gap-y-2">
        <Tick label="Required" isOn={field.isRequired} onChange={(isRequired) => onChange({ ...field, isRequired })} />
        <Tick label="List of values" isOn={field.isList} onChange={(isList) => onChange({ ...field, isList, listRest: {} })} />
        <Tick
          label={field.isList ? "Items may be null" : "May be null"}
          isOn={field.mayBeNull}
          onChange={(mayBeNull) => onChange({ ...field, mayBeNull })}
        />
      </div>
      <Carried field={field} />
      {field.group && (
        <SchemaBuilder group={field.group} depth={depth + 1} problemOf={problemOf} onChange={(group) => onChange({ ...field, group })} />
      )}
    </li>
  );
}

function Tick({ label, isOn, onChange }: { label: string; isOn: boolean; onChange: (isOn: boolean) => void }) {
  return (
    <label className="flex min-h-6 items-center gap-2">
      <input type="checkbox" checked={isOn} onChange={(event) => onChange(event.target.checked)} /> {label}
    </label>
  );
}

/** One choice a line: commas are part of choices. */
function Choices({ field, onChange }: { field: SchemaField; onChange: (field: SchemaField) => void }) {
  return (
    <Field isQuiet label="Choices, one per line">
      <Textarea
        rows={Math.min(8, Math.max(2, field.choices.length + 1))}
        value={field.choices.join("\n")}
        onChange={(event) => onChange({ ...field, choices: event.target.value === "" ? [] : event.target.value.split("\n") })}
      />
    </Field>
  );
}

/** What the schema says beyond the form: it stays, and is changed as JSON. */
function Carried({ field }: { field: SchemaField }) {
  const keywords = [...Object.keys(field.rest), ...Object.keys(field.listRest)];
  return keywords.length === 0 ? null : (
    <span className="text-text-3">
      Also sets <span className="font-mono break-words">{keywords.join(", ")}</span>. Edit it as JSON.
    </span>
  );
}
