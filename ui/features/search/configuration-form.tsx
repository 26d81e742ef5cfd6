"use client";

import { useEffect, useRef } from "react";
import { type Control, useController, useWatch } from "react-hook-form";

import { Form, SelectField, TextField, useSchemaForm } from "@/components/ui/form";

import { type Configuration, readConfiguration, writeConfiguration } from "./configuration";
import { configurationOf, type ConfigurationValues, SCHEMA, valuesOf } from "./configuration-values";

/** Each valid change searches again: a choice at once, a number when it is finished. */
export function ConfigurationForm({
  configuration,
  onChange,
}: {
  configuration: Configuration;
  onChange: (changed: Configuration) => void;
}) {
  const form = useSchemaForm(SCHEMA, valuesOf(configuration));
  const { control } = form;
  const current = useRef(configuration);
  const written = writeConfiguration(configuration);
  // The address may bring other values; what is invalid in other fields stays as typed.
  useEffect(() => {
    const before = valuesOf(current.current);
    current.current = readConfiguration(written);
    const now = valuesOf(current.current);
    for (const name of Object.keys(now) as (keyof ConfigurationValues)[])
      if (now[name] !== before[name]) form.resetField(name, { defaultValue: now[name] });
  }, [form, written]);
  const commit = async (name: keyof ConfigurationValues) => {
    if (!(await form.trigger(name))) return;
    const changed = { ...current.current, [name]: configurationOf(form.getValues())[name] };
    if (changed[name] === current.current[name]) return;
    current.current = changed;
    onChange(changed);
  };
  const onFinished = ({ target }: React.SyntheticEvent) => {
    if (target instanceof HTMLInputElement || target instanceof HTMLSelectElement) void commit(target.name as keyof ConfigurationValues);
  };
  const numbers = {
    type: "number",
    onKeyDown: (event: React.KeyboardEvent) => {
      if (event.key === "Enter") onFinished(event);
    },
  };
  const [mode, fusion] = useWatch({ control, name: ["mode", "fusion"] });
  const isHybrid = mode === "hybrid";
  return (
    <Form
      form={form}
      className="grid grid-cols-[repeat(auto-fill,minmax(150px,1fr))] items-start gap-3 border-b border-line bg-sunken px-4 py-3"
      onSubmit={(values) => onChange(configurationOf(values))}
      onBlur={onFinished}
      onChange={(event) => {
        const { target } = event;
        if (!(target instanceof HTMLInputElement) || target.type === "checkbox") onFinished(event);
      }}
    >
      <SelectField isQuiet control={control} name="mode" label="Find by">
        <option value="hybrid">Vector and keyword</option>
        <option value="vector">Vector</option>
        <option value="lexical">Keyword</option>
      </SelectField>
      <TextField {...numbers} isQuiet control={control} name="topK" label="Results" min={1} max={100} />
      {isHybrid && (
        <SelectField isQuiet control={control} name="fusion" label="Combine by">
          <option value="weighted">Weighted scores</option>
          <option value="rrf">Rank (RRF)</option>
        </SelectField>
      )}
      {isHybrid && fusion === "weighted" && (
        <TextField {...numbers} isQuiet control={control} name="alpha" label="Vector weight, 0–1" min={0} max={1} step={0.1} />
      )}
      <TextField {...numbers} isQuiet control={control} name="neighbours" label="Neighbours" min={0} max={5} placeholder="default" />
      <TextField
        {...numbers}
        isQuiet
        control={control}
        name="threshold"
        label="Minimum relevance"
        min={0}
        max={1}
        step={0.05}
        placeholder="none"
      />
      <Choice control={control} name="rerank">
        Rerank
      </Choice>
      <Choice control={control} name="hyde" title="Search with answers drafted by a chat model">
        Hypothetical answers (HyDE)
      </Choice>
    </Form>
  );
}

function Choice({
  control,
  name,
  title,
  children,
}: {
  control: Control<ConfigurationValues>;
  name: "rerank" | "hyde";
  title?: string;
  children: string;
}) {
  const { value, ...field } = useController({ control, name }).field;
  return (
    <label className="flex h-8 items-center gap-2 self-end" title={title}>
      <input type="checkbox" {...field} checked={value} /> {children}
    </label>
  );
}
