"use client";

import { Plus, X } from "lucide-react";
import { type Control, useFieldArray, useWatch } from "react-hook-form";

import type { Schemas } from "@/api/client";
import { Button } from "@/components/ui/button";
import { FieldProblem, TextField } from "@/components/ui/form";
import { formatCount } from "@/lib/format";

import type { OrganizationValues } from "./organization-values";

const LIMITS = [
  { name: "requests_per_minute", label: "Calls a minute" },
  { name: "tokens_per_minute", label: "Tokens a minute" },
  { name: "documents_per_minute", label: "Documents a minute" },
] as const;

function servers(most: number | null): string {
  return most === null ? "The server has no limit." : `The server allows up to ${formatCount(most)}.`;
}

/** Rate limits of the organization's own; empty is the server's. */
export function LimitFields({ control, server }: { control: Control<OrganizationValues>; server: Schemas["RateLimitsResponse"] }) {
  const models = useFieldArray({ control, name: "rate_limits.models" });
  return (
    <>
      <div className="grid grid-cols-3 gap-3 max-md:grid-cols-1">
        {LIMITS.map(({ name, label }) => (
          <TextField
            key={name}
            control={control}
            name={`rate_limits.${name}`}
            label={label}
            hint={servers(server[name])}
            type="number"
            inputMode="numeric"
            min={1}
            max={server[name] ?? undefined}
            placeholder={server[name] === null ? "No limit" : String(server[name])}
          />
        ))}
      </div>
      {models.fields.map((item, index) => (
        <ModelLimits key={item.id} control={control} index={index} onRemove={() => models.remove(index)} />
      ))}
      <FieldProblem control={control} name="rate_limits.models" />
      <Button
        className="self-start"
        onClick={() => models.append({ model: "", requests_per_minute: "", tokens_per_minute: "" }, { shouldFocus: false })}
      >
        <Plus aria-hidden size={14} /> Add limits for a model
      </Button>
    </>
  );
}

function ModelLimits({ control, index, onRemove }: { control: Control<OrganizationValues>; index: number; onRemove: () => void }) {
  const model = useWatch({ control, name: `rate_limits.models.${index}.model` });
  return (
    <div className="flex flex-wrap items-end gap-2">
      <TextField
        control={control}
        name={`rate_limits.models.${index}.model`}
        label="Model"
        className="font-mono text-xs"
        required
        placeholder="openai/text-embedding-3-small"
      />
      <TextField
        control={control}
        name={`rate_limits.models.${index}.requests_per_minute`}
        label="Calls"
        className="w-[110px]!"
        type="number"
        min={1}
      />
      <TextField
        control={control}
        name={`rate_limits.models.${index}.tokens_per_minute`}
        label="Tokens"
        className="w-[110px]!"
        type="number"
        min={1}
      />
      <Button variant="quiet" aria-label={`Remove the limits of ${model || "this model"}`} onClick={onRemove}>
        <X aria-hidden size={14} />
      </Button>
    </div>
  );
}
