"use client";

import { standardSchemaResolver } from "@hookform/resolvers/standard-schema";
import {
  type Control,
  type DefaultValues,
  type FieldPath,
  type FieldValues,
  get,
  useController,
  useForm,
  useFormState,
  type UseFormReturn,
} from "react-hook-form";
import type * as z from "zod/mini";

import { ApiError } from "@/api/errors";
import { Banner } from "@/components/state";

import "@/lib/checks";

import { Field, Input, Refusal, Textarea } from "./field";
import { Select } from "./select";

/** A form whose values a schema checks; values carry the names of the API's fields. */
export function useSchemaForm<Values extends FieldValues>(schema: z.ZodMiniType<Values, Values>, values: NoInfer<Values>) {
  return useForm<Values>({ resolver: standardSchemaResolver(schema), defaultValues: values as DefaultValues<Values> });
}

type FormProps<Values extends FieldValues> = Omit<React.ComponentProps<"form">, "onSubmit"> & {
  form: UseFormReturn<Values>;
  onSubmit: (values: Values) => void;
};

/** Submits valid values only; otherwise shows the problems at their fields. */
export function Form<Values extends FieldValues>({ form, onSubmit, ...rest }: FormProps<Values>) {
  return (
    <form
      {...rest}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        // The browser reports "1e" in a number field as an empty one.
        const inputs = [...event.currentTarget.querySelectorAll("input")];
        const unreadable = inputs.find((input) => input.validity.badInput);
        if (unreadable) unreadable.reportValidity();
        else void form.handleSubmit(onSubmit)(event);
      }}
    />
  );
}

/** Shows a failed request: each sentence at its field, the others above the form.

`renamed` maps the API's fields to the form's where the names differ. */
export function showFailure<Values extends FieldValues>(
  form: UseFormReturn<Values>,
  error: Error,
  renamed: Readonly<Record<string, FieldPath<Values>>> = {},
): void {
  const fields = error instanceof ApiError ? error.fields : [];
  let isShown = fields.length > 0;
  for (const { field, reason } of fields) {
    const name = renamed[field] ?? nearestField(form, field.replaceAll(/\[(\d+)\]/g, ".$1"));
    if (name === null) isShown = false;
    else form.setError(name, { type: "server", message: reason });
  }
  if (!isShown) form.setError("root.server", { message: error.message });
}

/** The form's field at a place of the API, or around it: a filter typed as JSON is one field. */
function nearestField<Values extends FieldValues>(form: UseFormReturn<Values>, place: string): FieldPath<Values> | null {
  const name = place as FieldPath<Values>;
  if (form.getValues(name) !== undefined) return name;
  const end = place.lastIndexOf(".");
  return end < 0 ? null : nearestField(form, place.slice(0, end));
}

/** The part of a failure that belongs to no field; `note` follows it. */
export function FormFailure<Values extends FieldValues>({ control, note = "" }: { control: Control<Values>; note?: string }) {
  const { errors } = useFormState({ control });
  const message = errors.root?.["server"]?.message;
  return message ? (
    <Banner tone="failed">
      {message} {note}
    </Banner>
  ) : null;
}

/** The problem of a field that has no label of its own, or of one of its items. */
export function FieldProblem<Values extends FieldValues>({ control, name }: { control: Control<Values>; name: FieldPath<Values> }) {
  const { errors } = useFormState({ control, name });
  const message = firstMessage(get<typeof errors, unknown>(errors, name));
  return message ? <Refusal>{message}</Refusal> : null;
}

/** Lists have their items' problems by place: `tag_ids[1]` of the API is `tag_ids.1` here. */
function firstMessage(error: unknown): string | undefined {
  const { message } = (error ?? {}) as { message?: unknown };
  if (typeof message === "string") return message;
  return Array.isArray(error) ? error.map(firstMessage).find(Boolean) : undefined;
}

interface Bound<Values extends FieldValues> {
  control: Control<Values>;
  name: FieldPath<Values>;
  label: React.ReactNode;
  hint?: string | undefined;
  isQuiet?: boolean;
}

type Own<Element extends "input" | "textarea" | "select"> = Omit<React.ComponentProps<Element>, "name" | "value" | "onChange" | "onBlur">;

export function TextField<Values extends FieldValues>({ control, name, label, hint, isQuiet, ...rest }: Bound<Values> & Own<"input">) {
  const { field, problem } = useField(control, name);
  return (
    <Field label={label} hint={hint} isQuiet={isQuiet} problem={problem}>
      <Input {...rest} {...field} />
    </Field>
  );
}

export function TextareaField<Values extends FieldValues>({
  control,
  name,
  label,
  hint,
  isQuiet,
  ...rest
}: Bound<Values> & Own<"textarea">) {
  const { field, problem } = useField(control, name);
  return (
    <Field label={label} hint={hint} isQuiet={isQuiet} problem={problem}>
      <Textarea {...rest} {...field} />
    </Field>
  );
}

export function SelectField<Values extends FieldValues>({ control, name, label, hint, isQuiet, ...rest }: Bound<Values> & Own<"select">) {
  const { field, problem } = useField(control, name);
  return (
    <Field label={label} hint={hint} isQuiet={isQuiet} problem={problem}>
      <Select {...rest} {...field} />
    </Field>
  );
}

function useField<Values extends FieldValues>(control: Control<Values>, name: FieldPath<Values>) {
  const { field, fieldState } = useController({ control, name });
  const problem = fieldState.error?.message;
  return { field: { ...field, value: field.value as string, "aria-invalid": problem !== undefined }, problem };
}
