"use client";

import { Plus, X } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/ui/button";
import { Input, Textarea } from "@/components/ui/field";
import { Select } from "@/components/ui/select";

import { type FilterRow, filterProblem, type Operator, OPERATORS, readFilter, toMetadataFilter } from "./filter";

const FIELDS = ["document_name", "document_id", "tag_ids", "content_type", "upload_date", "page", "metadata."];
const NEW_ROW: FilterRow = { field: "document_name", operator: "$eq", value: "" };

/** Conditions that must all hold, by form or as JSON; they count inside the search. */
export function FilterBuilder({ text, onApply }: { text: string; onApply: (text: string) => void }) {
  const known = filterProblem(text) === null ? readFilter(text) : null;
  const [isJson, setJson] = useState(known === null);
  const [rows, setRows] = useState<FilterRow[]>(known !== null && known.length > 0 ? known : [NEW_ROW]);
  const [json, setJsonText] = useState(text);
  const problem = isJson ? filterProblem(json) : null;
  const richer = isJson && problem === null && readFilter(json) === null;
  const put = (at: number, change: Partial<FilterRow>) => setRows(rows.map((row, index) => (index === at ? { ...row, ...change } : row)));
  const written = () => {
    if (isJson) return json.trim();
    const filter = toMetadataFilter(rows);
    return filter === null ? "" : JSON.stringify(filter);
  };
  const toggle = () => {
    if (isJson) {
      const parsed = problem === null ? readFilter(json) : null;
      if (parsed !== null) setRows(parsed.length > 0 ? parsed : [NEW_ROW]);
    } else {
      const filter = toMetadataFilter(rows);
      setJsonText(filter === null ? "" : JSON.stringify(filter, null, 2));
    }
    setJson(!isJson);
  };
  return (
    <form
      aria-label="Filter"
      className="flex flex-col gap-2 border-b border-line bg-sunken px-4 py-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (problem === null) onApply(written());
      }}
    >
      {isJson ? (
        <label className="flex flex-col gap-1">
          <span className="sr-only">Filter as JSON</span>
          <Textarea
            className="font-mono text-xs"
            rows={5}
            spellCheck={false}
            aria-invalid={problem !== null}
            placeholder='{"$or": [{"document_name": "lease.pdf"}, {"metadata.year": {"$gte": 2024}}]}'
            value={json}
            onChange={(event) => setJsonText(event.target.value)}
          />
          {problem && (
            <span role="alert" className="text-failed">
              {problem}
            </span>
          )}
        </label>
      ) : (
        rows.map((row, at) => (
          <div key={at} className="flex flex-wrap items-center gap-2">
            <label className="w-[190px] max-md:basis-full">
              <span className="sr-only">Field {at + 1}</span>
              <Input list="filter-fields" value={row.field} onChange={(event) => put(at, { field: event.target.value })} />
            </label>
            <label className="w-[150px] max-md:w-[120px]">
              <span className="sr-only">Comparison {at + 1}</span>
              <Select value={row.operator} onChange={(event) => put(at, { operator: event.target.value as Operator })}>
                {OPERATORS.map(({ operator, label }) => (
                  <option key={operator} value={operator}>
                    {label}
                  </option>
                ))}
              </Select>
            </label>
            {row.operator === "$exists" ? (
              <label className="w-[120px]">
                <span className="sr-only">Value {at + 1}</span>
                <Select value={row.value === "false" ? "false" : "true"} onChange={(event) => put(at, { value: event.target.value })}>
                  <option value="true">yes</option>
                  <option value="false">no</option>
                </Select>
              </label>
            ) : (
              <label className="min-w-[120px] flex-1 md:max-w-[320px]">
                <span className="sr-only">Value {at + 1}</span>
                <Input
                  placeholder={
                    row.operator === "$in" || row.operator === "$nin"
                      ? "a, b, c"
                      : row.field === "upload_date"
                        ? "2026-01-31T00:00:00Z"
                        : "Value"
                  }
                  value={row.value}
                  onChange={(event) => put(at, { value: event.target.value })}
                />
              </label>
            )}
            <Button
              variant="quiet"
              isIcon
              aria-label={`Remove condition ${at + 1}`}
              onClick={() => setRows(rows.filter((_, index) => index !== at))}
            >
              <X aria-hidden size={14} />
            </Button>
          </div>
        ))
      )}
      <datalist id="filter-fields">
        {FIELDS.map((field) => (
          <option key={field} value={field} />
        ))}
      </datalist>
      <div className="flex flex-wrap items-center gap-2">
        {!isJson && (
          <Button onClick={() => setRows([...rows, NEW_ROW])}>
            <Plus aria-hidden size={14} /> Add condition
          </Button>
        )}
        <Button type="submit" variant="primary" disabled={problem !== null}>
          Apply
        </Button>
        {text !== "" && <Button onClick={() => onApply("")}>Clear</Button>}
        <Button
          variant="quiet"
          onClick={toggle}
          disabled={richer || problem !== null}
          title={richer ? "This filter can only be edited as JSON" : undefined}
        >
          {isJson ? "As a form" : "As JSON"}
        </Button>
      </div>
    </form>
  );
}
