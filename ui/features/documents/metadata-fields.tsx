"use client";

import { X } from "lucide-react";
import { useController, type UseFormReturn, useWatch } from "react-hook-form";

import { Button } from "@/components/ui/button";
import { Input, Refusal } from "@/components/ui/field";
import { Select } from "@/components/ui/select";

import { asDeclared, type MetadataValues, TYPE_LABELS, VALUE_TYPES, type ValueType } from "./metadata";
import { type Declared } from "./queries";

interface MetadataFieldProps {
  form: UseFormReturn<MetadataValues>;
  at: number;
  declared: Declared;
  onRemove: () => void;
}

/** One field: its name, its type unless it is declared, and its value. */
export function MetadataField({ form, at, declared, onRemove }: MetadataFieldProps) {
  const { control, setValue } = form;
  const { field: name, fieldState: nameState } = useController({ control, name: `fields.${at}.name` });
  const { field: text, fieldState: textState } = useController({ control, name: `fields.${at}.text` });
  const row = asDeclared(useWatch({ control, name: `fields.${at}` }), declared);
  const isKept = row.before !== null;
  const fixed = declared[row.name.trim()];
  const label = row.name.trim() || "new field";
  const problem = nameState.error?.message ?? textState.error?.message;
  const setType = (type: ValueType) => setValue(`fields.${at}.type`, type, { shouldDirty: true });
  return (
    <div className="flex flex-col gap-1 border-b border-line py-2">
      <div className="flex flex-wrap items-center gap-2">
        <Input
          {...name}
          className="w-[160px]! shrink-0"
          aria-label={`Name of ${label}`}
          aria-invalid={nameState.invalid}
          placeholder="Name"
          list="declared-fields"
          readOnly={isKept}
          onChange={(event) => {
            name.onChange(event);
            setType(declared[event.target.value.trim()] ?? row.type);
          }}
        />
        <Select
          className="w-[110px]! shrink-0"
          aria-label={`Type of ${label}`}
          value={row.type}
          disabled={fixed !== undefined && row.type === fixed}
          onChange={({ target: { value } }) => {
            setType(value as ValueType);
            text.onChange("");
          }}
        >
          {VALUE_TYPES.map((type) => (
            <option key={type} value={type}>
              {TYPE_LABELS[type]}
            </option>
          ))}
        </Select>
        <ValueInput {...text} type={row.type} aria-label={`Value of ${label}`} aria-invalid={textState.invalid} />
        <Button variant="quiet" isIcon aria-label={`Remove ${label}`} onClick={onRemove}>
          <X aria-hidden size={14} />
        </Button>
      </div>
      {problem && <Refusal>{problem}</Refusal>}
    </div>
  );
}

type ValueInputProps = Pick<React.ComponentProps<"input">, "aria-label" | "aria-invalid"> & {
  type: ValueType;
  name: string;
  value: string;
  onChange: (event: React.ChangeEvent) => void;
  onBlur: () => void;
  ref: React.RefCallback<HTMLInputElement | HTMLSelectElement>;
};

function ValueInput({ type, ...field }: ValueInputProps) {
  const shared = { ...field, className: "min-w-[140px] flex-1" };
  if (type === "boolean") {
    return (
      <Select {...shared}>
        <option value="">–</option>
        <option value="true">Yes</option>
        <option value="false">No</option>
      </Select>
    );
  }
  return (
    <Input {...shared} type={type === "date" ? "date" : "text"} inputMode={type === "number" ? "decimal" : undefined} placeholder="Value" />
  );
}

/** Names to choose from, for every field that is shown. */
export function DeclaredNames({ declared }: { declared: Declared }) {
  return (
    <datalist id="declared-fields">
      {Object.keys(declared).map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  );
}
