"use client";

import { Plus, X } from "lucide-react";
import { type Control, useFieldArray, useWatch } from "react-hook-form";
import * as z from "zod/mini";

import { Button } from "@/components/ui/button";
import { Form, SelectField, TextareaField, TextField, useSchemaForm } from "@/components/ui/form";

import { type FilterRow, filterProblem, NAMES_OF_OPERATORS, OPERATORS, readFilter, toMetadataFilter } from "./filter";

const FIELDS = ["document_name", "document_id", "tag_ids", "content_type", "upload_date", "page", "metadata."];
const NEW_ROW: FilterRow = { field: "document_name", operator: "$eq", value: "" };

const ROW = z.object({ field: z.string(), operator: z.enum(NAMES_OF_OPERATORS), value: z.string() });
const SCHEMA = z.object({ isJson: z.boolean(), rows: z.array(ROW), json: z.string() }).check((checked) => {
  const { isJson, json } = checked.value;
  const problem = isJson ? filterProblem(json) : null;
  if (problem !== null) checked.issues.push({ code: "custom", message: problem, path: ["json"], input: json });
});

type FilterValues = z.infer<typeof SCHEMA>;

const atLeastOne = (rows: FilterRow[]) => (rows.length > 0 ? rows : [NEW_ROW]);

function valuesOf(text: string): FilterValues {
  const rows = filterProblem(text) === null ? readFilter(text) : null;
  return { isJson: rows === null, rows: atLeastOne(rows ?? []), json: text };
}

function textOf({ isJson, rows, json }: FilterValues): string {
  if (isJson) return json.trim();
  const filter = toMetadataFilter(rows);
  return filter === null ? "" : JSON.stringify(filter);
}

/** Conditions that must all hold, by form or as JSON; they count inside the search. */
export function FilterBuilder({ text, onApply }: { text: string; onApply: (text: string) => void }) {
  const form = useSchemaForm(SCHEMA, valuesOf(text));
  const { control, getValues, setValue } = form;
  const rows = useFieldArray({ control, name: "rows" });
  const [isJson, json] = useWatch({ control, name: ["isJson", "json"] });
  const isUnreadable = isJson && filterProblem(json) !== null;
  const isRicher = isJson && !isUnreadable && readFilter(json) === null;
  const toggle = () => {
    if (isJson) {
      rows.replace(atLeastOne(readFilter(json) ?? []));
    } else {
      const filter = toMetadataFilter(getValues("rows"));
      setValue("json", filter === null ? "" : JSON.stringify(filter, null, 2));
    }
    setValue("isJson", !isJson);
  };
  return (
    <Form
      form={form}
      aria-label="Filter"
      className="flex flex-col gap-2 border-b border-line bg-sunken px-4 py-3"
      onSubmit={(values) => onApply(textOf(values))}
    >
      {isJson ? (
        <TextareaField
          control={control}
          name="json"
          label={<span className="sr-only">Filter as JSON</span>}
          className="font-mono text-xs"
          rows={5}
          spellCheck={false}
          placeholder='{"$or": [{"document_name": "lease.pdf"}, {"metadata.year": {"$gte": 2024}}]}'
        />
      ) : (
        rows.fields.map((row, at) => <Condition key={row.id} control={control} at={at} onRemove={() => rows.remove(at)} />)
      )}
      <datalist id="filter-fields">
        {FIELDS.map((field) => (
          <option key={field} value={field} />
        ))}
      </datalist>
      <div className="flex flex-wrap items-center gap-2">
        {!isJson && (
          <Button onClick={() => rows.append(NEW_ROW, { shouldFocus: false })}>
            <Plus aria-hidden size={14} /> Add condition
          </Button>
        )}
        <Button type="submit" variant="primary">
          Apply
        </Button>
        {text !== "" && <Button onClick={() => onApply("")}>Clear</Button>}
        <Button
          variant="quiet"
          onClick={toggle}
          disabled={isRicher || isUnreadable}
          title={isRicher ? "This filter can only be edited as JSON" : undefined}
        >
          {isJson ? "As a form" : "As JSON"}
        </Button>
      </div>
    </Form>
  );
}

function placeholderOf({ operator, field }: FilterRow): string {
  if (operator === "$in" || operator === "$nin") return "a, b, c";
  return field === "upload_date" ? "2026-01-31T00:00:00Z" : "Value";
}

function Condition({ control, at, onRemove }: { control: Control<FilterValues>; at: number; onRemove: () => void }) {
  const row = useWatch({ control, name: `rows.${at}` });
  const label = (name: string) => (
    <span className="sr-only">
      {name} {at + 1}
    </span>
  );
  return (
    <div className="flex flex-wrap items-center gap-2">
      <div className="w-[190px] max-md:basis-full">
        <TextField control={control} name={`rows.${at}.field`} label={label("Field")} list="filter-fields" />
      </div>
      <div className="w-[150px] max-md:w-[120px]">
        <SelectField control={control} name={`rows.${at}.operator`} label={label("Comparison")}>
          {OPERATORS.map(({ operator, label: words }) => (
            <option key={operator} value={operator}>
              {words}
            </option>
          ))}
        </SelectField>
      </div>
      {row.operator === "$exists" ? (
        <div className="w-[120px]">
          <SelectField control={control} name={`rows.${at}.value`} label={label("Value")}>
            <option value="true">yes</option>
            <option value="false">no</option>
          </SelectField>
        </div>
      ) : (
        <div className="min-w-[120px] flex-1 md:max-w-[320px]">
          <TextField control={control} name={`rows.${at}.value`} label={label("Value")} placeholder={placeholderOf(row)} />
        </div>
      )}
      <Button variant="quiet" isIcon aria-label={`Remove condition ${at + 1}`} onClick={onRemove}>
        <X aria-hidden size={14} />
      </Button>
    </div>
  );
}
