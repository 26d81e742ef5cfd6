"use client";

import { Field, Input } from "@/components/ui/field";
import { Select } from "@/components/ui/select";

import type { Configuration, Fusion, Mode } from "./configuration";

/** Each change searches anew. */
export function ConfigurationForm({
  configuration,
  onChange,
}: {
  configuration: Configuration;
  onChange: (changed: Configuration) => void;
}) {
  const put = (change: Partial<Configuration>) => onChange({ ...configuration, ...change });
  const isHybrid = configuration.mode === "hybrid";
  return (
    <div className="grid grid-cols-[repeat(auto-fill,minmax(150px,1fr))] items-end gap-3 border-b border-line bg-sunken px-4 py-3">
      <Field isQuiet label="Find by">
        <Select value={configuration.mode} onChange={(event) => put({ mode: event.target.value as Mode })}>
          <option value="hybrid">Vector and keyword</option>
          <option value="vector">Vector</option>
          <option value="lexical">Keyword</option>
        </Select>
      </Field>
      <NumberField label="Results" value={configuration.topK} least={1} most={100} onChange={(topK) => topK !== null && put({ topK })} />
      {isHybrid && (
        <Field isQuiet label="Combine by">
          <Select value={configuration.fusion} onChange={(event) => put({ fusion: event.target.value as Fusion })}>
            <option value="weighted">Weighted scores</option>
            <option value="rrf">Rank (RRF)</option>
          </Select>
        </Field>
      )}
      {isHybrid && configuration.fusion === "weighted" && (
        <NumberField
          label="Vector weight, 0–1"
          value={configuration.alpha}
          least={0}
          most={1}
          step={0.1}
          onChange={(alpha) => alpha !== null && put({ alpha })}
        />
      )}
      <NumberField
        label="Neighbours"
        value={configuration.neighbours}
        least={0}
        most={5}
        empty="default"
        onChange={(neighbours) => put({ neighbours })}
      />
      <NumberField
        label="Minimum relevance"
        value={configuration.threshold}
        least={0}
        most={1}
        step={0.05}
        empty="none"
        onChange={(threshold) => put({ threshold })}
      />
      <label className="flex h-8 items-center gap-2">
        <input type="checkbox" checked={configuration.rerank} onChange={(event) => put({ rerank: event.target.checked })} /> Rerank
      </label>
      <label className="flex h-8 items-center gap-2" title="Search with answers drafted by a chat model">
        <input type="checkbox" checked={configuration.hyde} onChange={(event) => put({ hyde: event.target.checked })} /> Hypothetical
        answers (HyDE)
      </label>
    </div>
  );
}

function NumberField({
  label,
  value,
  least,
  most,
  step = 1,
  empty,
  onChange,
}: {
  label: string;
  value: number | null;
  least: number;
  most: number;
  step?: number;
  empty?: string;
  onChange: (value: number | null) => void;
}) {
  const commit = (text: string) => {
    const number = text === "" ? null : Number(text);
    if (number === null ? empty !== undefined : number >= least && number <= most) {
      if (number !== value) onChange(number);
    }
  };
  return (
    <Field isQuiet label={label}>
      <Input
        key={value}
        type="number"
        min={least}
        max={most}
        step={step}
        defaultValue={value ?? ""}
        placeholder={empty}
        onBlur={(event) => commit(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") commit(event.currentTarget.value);
        }}
      />
    </Field>
  );
}
