"use client";

import { useQuery } from "@tanstack/react-query";
import Link from "next/link";
import { useState } from "react";
import { type Control, useController } from "react-hook-form";

import { type Schemas } from "@/api/client";
import { Field, Input } from "@/components/ui/field";
import { FieldProblem } from "@/components/ui/form";
import { Select } from "@/components/ui/select";

import type { BaseValues } from "./base-fields";
import { embeddingModelsQuery } from "./queries";

type Model = Schemas["ModelResponse"];

const OTHER = "other";

function byProvider(models: readonly Model[]): Map<string, Model[]> {
  const groups = new Map<string, Model[]>();
  for (const model of models) groups.set(model.litellm_provider, [...(groups.get(model.litellm_provider) ?? []), model]);
  return groups;
}

/** A choice of the available embedding models, with the reason why others are missing. */
export function ModelField({ control }: { control: Control<BaseValues> }) {
  const { field } = useController({ control, name: "embedding_model" });
  const model = field.value;
  const { data } = useQuery(embeddingModelsQuery());
  const models = data?.models ?? [];
  const [isTyped, setTyped] = useState(false);
  const isListed = model === "" || models.some((item) => item.model === model);
  const hasOther = isTyped || (data !== undefined && !isListed);
  return (
    <div className="flex flex-col gap-1">
      <Field label="Embedding model">
        <Select
          value={hasOther ? OTHER : model}
          onChange={(event) => {
            setTyped(event.target.value === OTHER);
            field.onChange(event.target.value === OTHER ? "" : event.target.value);
          }}
        >
          <option value="">Default of the organization</option>
          {!hasOther && !isListed && <option value={model}>{model}</option>}
          {[...byProvider(models)].map(([provider, listed]) => (
            <optgroup key={provider} label={provider === "local" ? "On this server, without a key" : provider}>
              {listed.map((item) => (
                <option key={item.model} value={item.model}>
                  {item.model}
                  {item.dimensions !== null && `, ${item.dimensions} dimensions`}
                  {item.kind === "unknown" && ", kind unknown"}
                </option>
              ))}
            </optgroup>
          ))}
          <option value={OTHER}>Another model…</option>
        </Select>
      </Field>
      {hasOther && (
        <Input
          aria-label="Name of the model"
          placeholder="voyage/voyage-3"
          required
          maxLength={200}
          value={model}
          onChange={(event) => field.onChange(event.target.value)}
        />
      )}
      <FieldProblem control={control} name="embedding_model" />
      {Object.entries(data?.unreachable ?? {}).map(([provider, reason]) => (
        <span key={provider} className="text-warn">
          Models of {provider} could not be listed: {reason}
        </span>
      ))}
      <span className="text-text-3">
        Models of other providers need a key:{" "}
        <Link href="/settings/providers/" className="text-link underline">
          add one
        </Link>
        .
      </span>
    </div>
  );
}
