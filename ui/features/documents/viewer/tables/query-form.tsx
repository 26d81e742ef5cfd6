"use client";

import { Plus, X } from "lucide-react";
import { type Control, useController, useFieldArray, useWatch } from "react-hook-form";

import { Button } from "@/components/ui/button";
import { Form, SelectField, TextField, useSchemaForm } from "@/components/ui/form";

import type { Table } from "./queries";
import { CALCULATIONS, COMPARISONS, resultNames, schemaFor, type StructuredQuery, toSql } from "./structured-query";
import { isNumber } from "./table-words";

type Columns = Table["columns"];
type Parts = { control: Control<StructuredQuery>; columns: Columns };

/** A query about a table, put together from its columns; "Edit as SQL" goes on from what it says. */
export function QueryForm({
  columns,
  query,
  isAsking,
  onAsk,
  onEditAsSql,
}: {
  columns: Columns;
  query: StructuredQuery;
  isAsking: boolean;
  onAsk: (query: StructuredQuery) => void;
  onEditAsSql: (sql: string) => void;
}) {
  const form = useSchemaForm<StructuredQuery>(schemaFor(columns), query);
  const { control, getValues } = form;
  const [groups, calculations] = useWatch({ control, name: ["groups", "calculations"] });
  const isListing = groups.length === 0 && calculations.length === 0;
  return (
    <Form form={form} aria-label="Query" className="flex flex-col gap-4 rounded-lg border border-line p-4" onSubmit={onAsk}>
      <Filters control={control} columns={columns} />
      <Groups control={control} columns={columns} />
      <Calculations control={control} columns={columns} />
      {isListing && <ShownColumns control={control} columns={columns} />}
      <Order control={control} columns={columns} />
      <div className="flex flex-wrap items-center gap-2">
        <Button type="submit" variant="primary" className="min-w-[88px]" disabled={isAsking}>
          {isAsking ? "Asking…" : "Ask"}
        </Button>
        <Button variant="quiet" onClick={() => onEditAsSql(toSql(getValues(), columns))}>
          Edit as SQL
        </Button>
      </div>
    </Form>
  );
}

/** A part of the form: its rows, and a button that adds one. */
function Part({ title, add, onAdd, children }: { title: string; add: string; onAdd: () => void; children: React.ReactNode }) {
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1 font-medium">{title}</legend>
      {children}
      <Button size="small" className="self-start" onClick={onAdd}>
        <Plus aria-hidden size={14} /> {add}
      </Button>
    </fieldset>
  );
}

function Remove({ name, onRemove }: { name: string; onRemove: () => void }) {
  return (
    <Button variant="quiet" isIcon aria-label={`Remove ${name}`} onClick={onRemove}>
      <X aria-hidden size={14} />
    </Button>
  );
}

const hidden = (text: string) => <span className="sr-only">{text}</span>;

function Options({ columns }: { columns: Columns }) {
  return columns.map(({ name }) => (
    <option key={name} value={name}>
      {name}
    </option>
  ));
}

function Filters({ control, columns }: Parts) {
  const { fields, append, remove } = useFieldArray({ control, name: "filters" });
  const first = columns[0]?.name ?? "";
  return (
    <Part
      title="Only rows where"
      add="Add condition"
      onAdd={() => append({ column: first, comparison: "=", value: "" }, { shouldFocus: false })}
    >
      {fields.map((field, at) => (
        <Filter key={field.id} control={control} columns={columns} at={at} onRemove={() => remove(at)} />
      ))}
    </Part>
  );
}

function Filter({ control, columns, at, onRemove }: Parts & { at: number; onRemove: () => void }) {
  const { column, comparison } = useWatch({ control, name: `filters.${at}` });
  const type = columns.find(({ name }) => name === column)?.type ?? "text";
  const needsValue = comparison !== "empty" && comparison !== "filled";
  return (
    <div className="flex flex-wrap items-start gap-2">
      <div className="w-[200px] max-md:basis-full">
        <SelectField control={control} name={`filters.${at}.column`} label={hidden(`Column of condition ${at + 1}`)}>
          <Options columns={columns} />
        </SelectField>
      </div>
      <div className="w-[150px]">
        <SelectField control={control} name={`filters.${at}.comparison`} label={hidden(`Comparison of condition ${at + 1}`)}>
          {COMPARISONS.map(({ comparison: each, label }) => (
            <option key={each} value={each}>
              {label}
            </option>
          ))}
        </SelectField>
      </div>
      {needsValue && (
        <div className="min-w-[120px] flex-1 md:max-w-[320px]">
          <TextField
            control={control}
            name={`filters.${at}.value`}
            label={hidden(`Value of condition ${at + 1}`)}
            placeholder={PLACEHOLDERS[type] ?? "Value"}
          />
        </div>
      )}
      <Remove name={`condition ${at + 1}`} onRemove={onRemove} />
    </div>
  );
}

const PLACEHOLDERS: Readonly<Record<string, string>> = {
  integer: "1234",
  decimal: "1234.5",
  date: "2026-01-31",
  timestamp: "2026-01-31 14:30",
  boolean: "yes or no",
};

function Groups({ control, columns }: Parts) {
  const { fields, append, remove } = useFieldArray({ control, name: "groups" });
  const likely = columns.find(({ type }) => type === "text") ?? columns[0];
  return (
    <Part title="Group by" add="Add group" onAdd={() => append({ column: likely?.name ?? "" }, { shouldFocus: false })}>
      {fields.map((field, at) => (
        <div key={field.id} className="flex flex-wrap items-start gap-2">
          <div className="w-[200px]">
            <SelectField control={control} name={`groups.${at}.column`} label={hidden(`Column of group ${at + 1}`)}>
              <Options columns={columns} />
            </SelectField>
          </div>
          <Remove name={`group ${at + 1}`} onRemove={() => remove(at)} />
        </div>
      ))}
    </Part>
  );
}

function Calculations({ control, columns }: Parts) {
  const { fields, append, remove } = useFieldArray({ control, name: "calculations" });
  const rows = useWatch({ control, name: "calculations" });
  const number = columns.find(({ type }) => isNumber(type));
  const add = () =>
    append({ calculation: number ? "sum" : "count", column: number?.name ?? columns[0]?.name ?? "" }, { shouldFocus: false });
  return (
    <Part title="Calculate" add="Add calculation" onAdd={add}>
      {fields.map((field, at) => (
        <div key={field.id} className="flex flex-wrap items-start gap-2">
          <div className="w-[230px]">
            <SelectField control={control} name={`calculations.${at}.calculation`} label={hidden(`Calculation ${at + 1}`)}>
              {CALCULATIONS.map(({ calculation, label }) => (
                <option key={calculation} value={calculation}>
                  {label}
                </option>
              ))}
            </SelectField>
          </div>
          {rows[at]?.calculation !== "count" && (
            <div className="w-[200px]">
              <SelectField control={control} name={`calculations.${at}.column`} label={hidden(`Column of calculation ${at + 1}`)}>
                <Options columns={columns} />
              </SelectField>
            </div>
          )}
          <Remove name={`calculation ${at + 1}`} onRemove={() => remove(at)} />
        </div>
      ))}
    </Part>
  );
}

function ShownColumns({ control, columns }: Parts) {
  const { field } = useController({ control, name: "columns" });
  const toggle = (name: string, isOn: boolean) =>
    field.onChange(columns.map((column) => column.name).filter((each) => (each === name ? isOn : field.value.includes(each))));
  return (
    <fieldset>
      <legend className="mb-1 font-medium">Columns shown</legend>
      <p className="mb-2 text-text-3">All columns are shown if none is chosen.</p>
      <div className="flex max-h-[160px] flex-wrap gap-x-4 gap-y-2 overflow-auto">
        {columns.map(({ name }) => (
          <label key={name} className="flex max-w-full items-center gap-2">
            <input type="checkbox" checked={field.value.includes(name)} onChange={(event) => toggle(name, event.target.checked)} />
            <span className="truncate">{name}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

function Order({ control, columns }: Parts) {
  const query = useWatch({ control }) as StructuredQuery;
  const names = resultNames(query, columns);
  return (
    <div className="flex flex-wrap gap-2">
      <div className="w-[230px]">
        <SelectField control={control} name="order" label="Sort by">
          <option value="">Order of the table</option>
          {names.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </SelectField>
      </div>
      {query.order !== "" && (
        <div className="w-[190px]">
          <SelectField control={control} name="direction" label="Direction">
            <option value="descending">Largest first</option>
            <option value="ascending">Smallest first</option>
          </SelectField>
        </div>
      )}
    </div>
  );
}
