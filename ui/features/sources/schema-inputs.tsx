"use client";

import { type Control, useController } from "react-hook-form";

import { FieldProblem, SelectField, TextareaField, TextField } from "@/components/ui/form";

import { PairRows } from "./pair-rows";
import { pairsOf, pairsText, type SchemaField } from "./schema-fields";
import type { SourceValues } from "./source-values";

interface InputProps {
  control: Control<SourceValues>;
  part: "settings" | "credentials";
  field: SchemaField;
}

/** The inputs of a kind's settings or credentials, and their common problem. */
export function SchemaInputs({
  fields,
  hasProblem = true,
  ...rest
}: Omit<InputProps, "field"> & {
  fields: readonly SchemaField[];
  /** False for a second list of the same part. */
  hasProblem?: boolean;
}) {
  return (
    <>
      {fields.map((field) => (
        <SchemaInput key={field.name} field={field} {...rest} />
      ))}
      {hasProblem && <FieldProblem control={rest.control} name={rest.part} />}
    </>
  );
}

function SchemaInput({ control, part, field }: InputProps) {
  const shared = {
    control,
    name: `${part}.${field.name}` as const,
    label: field.isRequired ? field.label : <Optional label={field.label} />,
    hint: field.hint,
    required: field.isRequired,
  };
  switch (field.kind) {
    case "boolean":
      return <SchemaSwitch control={control} part={part} field={field} />;
    case "choice":
      return (
        <SelectField {...shared}>
          {!field.isRequired && field.default === undefined && <option value="">–</option>}
          {field.choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice.replaceAll("_", " ")}
            </option>
          ))}
        </SelectField>
      );
    case "lines":
      return <TextareaField {...shared} hint={withMore(field.hint, "One on each line.")} rows={3} spellCheck={false} />;
    case "pairs":
      return <SchemaPairs control={control} part={part} field={field} />;
    case "json":
      return <TextareaField {...shared} hint={withMore(field.hint, "As JSON.")} rows={4} spellCheck={false} className="font-mono" />;
    case "secret":
      if (field.isLong)
        return (
          <TextareaField {...shared} rows={4} autoComplete="off" spellCheck={false} className="font-mono [-webkit-text-security:disc]" />
        );
      return <TextField {...shared} type="password" autoComplete="new-password" className="font-mono" />;
    case "number":
      return <TextField {...shared} inputMode="decimal" className="max-w-[160px]" />;
    default:
      if (field.isLong) return <TextareaField {...shared} rows={4} autoComplete="off" spellCheck={false} className="font-mono" />;
      return <TextField {...shared} autoComplete="off" spellCheck={false} />;
  }
}

function Optional({ label }: { label: string }) {
  return (
    <>
      {label} <span className="font-normal text-text-3">(optional)</span>
    </>
  );
}

function withMore(hint: string | undefined, more: string): string {
  return hint === undefined ? more : `${hint.replace(/\.$/, "")}. ${more}`;
}

function SchemaSwitch({ control, part, field }: InputProps) {
  const {
    field: { value, onChange, ...bound },
  } = useController({ control, name: `${part}.${field.name}` });
  return (
    <div className="flex flex-col gap-1">
      <label className="flex items-center gap-2">
        <input type="checkbox" {...bound} checked={value === "true"} onChange={(event) => onChange(String(event.target.checked))} />
        <span className="font-medium">{field.label}</span>
      </label>
      {field.hint && <span className="text-text-3">{field.hint}</span>}
      <FieldProblem control={control} name={`${part}.${field.name}`} />
    </div>
  );
}

function SchemaPairs({ control, part, field }: InputProps) {
  const name = `${part}.${field.name}` as const;
  const { field: bound } = useController({ control, name });
  return (
    <PairRows
      title={field.isRequired ? field.label : <Optional label={field.label} />}
      hint={field.hint}
      columns={["Name", "Value"]}
      add="Add row"
      pairs={pairsOf(bound.value)}
      onChange={(pairs) => bound.onChange(pairsText(pairs))}
      isHidden={field.isHidden}
    >
      <FieldProblem control={control} name={name} />
    </PairRows>
  );
}
