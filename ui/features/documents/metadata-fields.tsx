"use client";

import { X } from "lucide-react";

import { Button } from "@/components/ui/button";
import { Input } from "@/components/ui/field";
import { Select } from "@/components/ui/select";

import { type FieldDraft, TYPE_LABELS, VALUE_TYPES, type ValueType } from "./metadata";
import { type Declared } from "./queries";

/** One field: its name, its type where nobody has declared it, and its value. */
export function MetadataField({
  draft,
  declared,
  problem,
  onChange,
  onRemove,
}: {
  draft: FieldDraft;
  declared: Declared;
  problem: string | undefined;
  onChange: (draft: FieldDraft) => void;
  onRemove?: () => void;
}) {
  const isKept = draft.before !== null;
  const fixed = declared[draft.name.trim()];
  const label = draft.name.trim() || "new field";
  return (
    <div className="flex flex-col gap-1 border-b border-line py-2">
      <div className="flex flex-wrap items-center gap-2">
        <Input
          className="w-[160px]! shrink-0"
          aria-label={`Name of ${label}`}
          placeholder="Name"
          list="declared-fields"
          value={draft.name}
          readOnly={isKept}
          onChange={({ target: { value: name } }) => onChange({ ...draft, name, type: declared[name.trim()] ?? draft.type })}
        />
        <Select
          className="w-[110px]! shrink-0"
          aria-label={`Type of ${label}`}
          value={draft.type}
          disabled={fixed !== undefined && draft.type === fixed}
          onChange={({ target: { value } }) => onChange({ ...draft, type: value as ValueType, text: "" })}
        >
          {VALUE_TYPES.map((type) => (
            <option key={type} value={type}>
              {TYPE_LABELS[type]}
            </option>
          ))}
        </Select>
        <ValueInput draft={draft} label={label} onText={(text) => onChange({ ...draft, text })} />
        {onRemove && (
          <Button variant="quiet" isIcon aria-label={`Remove ${label}`} onClick={onRemove}>
            <X aria-hidden size={14} />
          </Button>
        )}
      </div>
      {problem && (
        <span role="alert" className="text-failed">
          {problem}
        </span>
      )}
    </div>
  );
}

function ValueInput({ draft, label, onText }: { draft: FieldDraft; label: string; onText: (text: string) => void }) {
  const shared = { className: "min-w-[140px] flex-1", "aria-label": `Value of ${label}`, value: draft.text };
  if (draft.type === "boolean") {
    return (
      <Select {...shared} onChange={(event) => onText(event.target.value)}>
        <option value="">–</option>
        <option value="true">Yes</option>
        <option value="false">No</option>
      </Select>
    );
  }
  return (
    <Input
      {...shared}
      type={draft.type === "date" ? "date" : "text"}
      inputMode={draft.type === "number" ? "decimal" : undefined}
      placeholder="Value"
      onChange={(event) => onText(event.target.value)}
    />
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
