"use client";

import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useEffect } from "react";
import { useFieldArray } from "react-hook-form";
import * as z from "zod/mini";

import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { Refusal } from "@/components/ui/field";
import { Form, useSchemaForm } from "@/components/ui/form";

import type { MetadataChanges } from "./bulk-changes";
import { asDeclared, type FieldDraft, metadataChanges, type MetadataValues, typed, typeOf, VALUE_TYPES } from "./metadata";
import { DeclaredNames, MetadataField } from "./metadata-fields";
import { type Declared, declaredFieldsQuery } from "./queries";

type Present = Readonly<Record<string, unknown>>;

const NONE: Declared = {};
const NEW: FieldDraft = { name: "", type: "string", text: "", before: null };
const FIELD = z.object({ name: z.string(), type: z.enum(VALUE_TYPES), text: z.string(), before: z.nullable(z.string()) });

function schemaFor(present: Present, declared: Declared) {
  return z.object({ fields: z.array(FIELD) }).check((checked) => {
    for (const { at, part, problem } of changesOf(checked.value, present, declared).problems)
      checked.issues.push({ code: "custom", message: problem, path: ["fields", at, part], input: checked.value });
  });
}

/** What is declared may become known after a name was typed. */
function changesOf({ fields }: MetadataValues, present: Present, declared: Declared) {
  return metadataChanges(
    present,
    fields.map((field) => asDeclared(field, declared)),
  );
}

/** Metadata of one document (`present`) as a whole, or values to set on many. It is mounted when it is opened. */
export function MetadataDialog({
  title,
  description,
  present,
  action,
  error,
  isBusy,
  onSave,
  onClose,
}: {
  title: string;
  description: string;
  present: Present;
  action: string;
  error: string | null;
  isBusy: boolean;
  onSave: (changes: MetadataChanges) => void;
  onClose: () => void;
}) {
  const { data: declared = NONE, isPending } = useQuery(declaredFieldsQuery());
  const form = useSchemaForm(schemaFor(present, declared), valuesOf(present, declared));
  const { control, formState } = form;
  const { fields, append, remove } = useFieldArray({ control, name: "fields" });
  const { isDirty } = formState;
  const initial = JSON.stringify(valuesOf(present, declared));
  useEffect(() => {
    if (!isDirty) form.reset(JSON.parse(initial) as MetadataValues);
  }, [form, isDirty, initial]);
  return (
    <Dialog
      open
      onOpenChange={(isOpen) => !isOpen && onClose()}
      title={title}
      description={description}
      wide
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form="metadata-form" variant="primary" disabled={isBusy || isPending}>
            {action}
          </Button>
        </>
      }
    >
      <Form
        form={form}
        id="metadata-form"
        onSubmit={(values) => {
          const { changes } = changesOf(values, present, declared);
          if (Object.keys(changes).length === 0) onClose();
          else onSave(changes);
        }}
      >
        <DeclaredNames declared={declared} />
        {fields.map((field, at) => (
          <MetadataField key={field.id} form={form} at={at} declared={declared} onRemove={() => remove(at)} />
        ))}
        <Button size="small" className="mt-3" onClick={() => append(NEW, { shouldFocus: false })}>
          <Plus aria-hidden size={13} /> Add a field
        </Button>
        {error && (
          <p className="mt-3 break-words">
            <Refusal>{error}</Refusal>
          </p>
        )}
      </Form>
    </Dialog>
  );
}

function valuesOf(present: Present, declared: Declared): MetadataValues {
  const fields = Object.entries(present).map(([name, value]): FieldDraft => {
    const type = typeOf(value, declared[name]);
    const text = typed(value, type);
    return { name, type, text, before: text };
  });
  return { fields: fields.length > 0 ? fields : [NEW] };
}
