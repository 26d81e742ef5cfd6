"use client";

import { useState } from "react";
import { type Control, useController, type UseFormReturn, useFormState, useWatch } from "react-hook-form";

import { May } from "@/components/may";
import { Button } from "@/components/ui/button";
import { FieldProblem, SelectField, TextareaField, TextField } from "@/components/ui/form";

import { PairRows } from "./pair-rows";
import { SchemaInputs } from "./schema-inputs";
import { INTERVALS, type KindFields, type SourceValues } from "./source-values";
import { SourceTags, VanishedTag } from "./tag-fields";
import { scheduleWords, VANISHED_WORDS } from "./words";

const SECTION = "flex flex-col gap-4 border-t border-line pt-4";

/** All fields of a source; `hasStored`: it has credentials, which are kept unless they are replaced. */
export function SourceFields({
  form,
  kind,
  hasStored,
  isFresh = false,
}: {
  form: UseFormReturn<SourceValues>;
  kind: KindFields;
  hasStored: boolean;
  isFresh?: boolean;
}) {
  const { control } = form;
  return (
    <>
      <TextField control={control} name="name" label="Name" required autoFocus={isFresh} maxLength={200} autoComplete="off" />
      <Settings control={control} fields={kind.settings} />
      {kind.credentials.length > 0 && <Credentials form={form} kind={kind} hasStored={hasStored} />}
      <div className={SECTION}>
        <SourceTags control={control} />
      </div>
      {!kind.isPushed && <Schedule control={control} />}
      <Vanished control={control} />
      <MoreFields control={control} />
    </>
  );
}

/** More optional settings than this are folded away. */
const SHOWN_OPTIONAL = 3;

/** The kind's settings; many optional ones stand folded below the others. */
function Settings({ control, fields }: { control: Control<SourceValues>; fields: KindFields["settings"] }) {
  const { errors } = useFormState({ control });
  const [isOpen, setOpen] = useState(false);
  const optional = fields.filter((field) => !field.isRequired);
  if (optional.length <= SHOWN_OPTIONAL) return <SchemaInputs control={control} part="settings" fields={fields} />;
  return (
    <>
      <SchemaInputs control={control} part="settings" fields={fields.filter((field) => field.isRequired)} />
      <details
        open={isOpen || optional.some(({ name }) => errors.settings?.[name] !== undefined)}
        onToggle={(event) => setOpen(event.currentTarget.open)}
      >
        <summary className="cursor-pointer font-medium">More settings</summary>
        <div className="mt-4 flex flex-col gap-5">
          <SchemaInputs control={control} part="settings" fields={optional} hasProblem={false} />
        </div>
      </details>
    </>
  );
}

const FOLDED = ["include", "exclude", "max_item_megabytes", "metadata", "metadata_mapping"] as const;

/** Fields that few sources need; unfolded if one has a value or a problem. */
function MoreFields({ control }: { control: Control<SourceValues> }) {
  const { errors, defaultValues } = useFormState({ control });
  const [isOpen, setOpen] = useState(() => FOLDED.some((name) => (defaultValues?.[name]?.length ?? 0) > 0));
  return (
    <details
      className="border-t border-line pt-4"
      open={isOpen || FOLDED.some((name) => errors[name] !== undefined)}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary className="cursor-pointer font-medium">Choose items and set metadata</summary>
      <div className="mt-4 flex flex-col gap-4">
        <Filters control={control} />
        <MetadataRows
          control={control}
          name="metadata_mapping"
          title="Metadata from items"
          hint="Copy fields of an item to its document. The test of the connection shows the fields of the first items."
          columns={["Field of the item", "Metadata key"]}
          add="Map field"
        />
        <MetadataRows
          control={control}
          name="metadata"
          title="Fixed metadata"
          hint="Each document gets these values. Numbers, true and false are stored as such; put a number in quotes to store text."
          columns={["Metadata key", "Value"]}
          add="Add value"
        />
      </div>
    </details>
  );
}

function Credentials({ form, kind, hasStored }: { form: UseFormReturn<SourceValues>; kind: KindFields; hasStored: boolean }) {
  const { control, setValue } = form;
  const isSending = useWatch({ control, name: "sends_credentials" });
  return (
    <fieldset className={SECTION}>
      <legend className="sr-only">Credentials</legend>
      <p className="text-text-2">
        <strong className="font-semibold">Credentials.</strong>{" "}
        {hasStored && !isSending ? "Stored encrypted and never shown again." : "They are stored encrypted and never shown again."}
        {hasStored && isSending && " All of them are replaced."}
      </p>
      {isSending && kind.signInRedirect !== null && <SignInNote redirect={kind.signInRedirect} hasStored={hasStored} />}
      {isSending && <SchemaInputs control={control} part="credentials" fields={kind.credentials} />}
      {hasStored && (
        <May to="update_source">
          <Button
            size="small"
            className="self-start"
            onClick={() => setValue("sends_credentials", !isSending, { shouldDirty: true, shouldValidate: false })}
          >
            {isSending ? "Keep stored credentials" : "Replace credentials"}
          </Button>
        </May>
      )}
    </fieldset>
  );
}

/** Tells how a person signs in, which takes an application at the service. */
function SignInNote({ redirect, hasStored }: { redirect: string; hasStored: boolean }) {
  return (
    <p className="text-text-2">
      To sign in as a person, register an application at the service with the redirect address{" "}
      <code className="font-mono break-all">{redirect}</code> and enter its client ID and client secret.{" "}
      {hasStored ? "Save" : "Add the source"}, then choose “Sign in” on its page, which sets the tokens.
    </p>
  );
}

function Schedule({ control }: { control: Control<SourceValues> }) {
  const schedule = useWatch({ control, name: "schedule" });
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <SelectField control={control} name="schedule" label="Schedule" hint="The first scheduled run starts within a minute.">
        {INTERVALS.map((seconds) => (
          <option key={seconds} value={seconds}>
            {scheduleWords(seconds === "" ? null : Number(seconds))}
          </option>
        ))}
        <option value="other">Another interval</option>
      </SelectField>
      {schedule === "other" && (
        <TextField control={control} name="schedule_minutes" label="Minutes between runs" inputMode="decimal" required />
      )}
    </div>
  );
}

function Vanished({ control }: { control: Control<SourceValues> }) {
  const choice = useWatch({ control, name: "when_vanished" });
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <SelectField
        control={control}
        name="when_vanished"
        label="When an item vanishes from the source"
        hint="A run that finds less than half of the known items removes nothing."
      >
        {(["delete", "keep", "tag"] as const).map((value) => (
          <option key={value} value={value}>
            {VANISHED_WORDS[value]}
          </option>
        ))}
      </SelectField>
      {choice === "tag" && <VanishedTag control={control} />}
    </div>
  );
}

function Filters({ control }: { control: Control<SourceValues> }) {
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-2">
        <TextareaField
          control={control}
          name="include"
          label="Include only"
          hint="Patterns for paths or addresses, one on each line, such as *.pdf. Empty: all items."
          rows={3}
          spellCheck={false}
        />
        <TextareaField
          control={control}
          name="exclude"
          label="Exclude"
          hint="Such as drafts/*. An asterisk also matches slashes."
          rows={3}
          spellCheck={false}
        />
      </div>
      <TextField
        control={control}
        name="max_item_megabytes"
        label="Largest item, MB"
        hint="Larger items are skipped. Empty: the server's largest upload."
        inputMode="decimal"
        className="max-w-[160px]"
      />
    </>
  );
}

function MetadataRows({
  control,
  name,
  ...rest
}: { control: Control<SourceValues>; name: "metadata" | "metadata_mapping" } & Pick<
  React.ComponentProps<typeof PairRows>,
  "title" | "hint" | "columns" | "add"
>) {
  const { field } = useController({ control, name });
  return (
    <PairRows
      {...rest}
      pairs={field.value.map(({ key, value }) => [key, value])}
      onChange={(pairs) => field.onChange(pairs.map(([key, value]) => ({ key, value })))}
    >
      <FieldProblem control={control} name={name} />
    </PairRows>
  );
}
