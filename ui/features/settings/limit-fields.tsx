"use client";

import { Plus, X } from "lucide-react";

import type { Schemas } from "@/api/client";
import { Button } from "@/components/ui/button";
import { Field, Input } from "@/components/ui/field";
import { formatCount } from "@/lib/format";

import type { ModelDraft, OrganizationDraft } from "./organization-draft";

interface LimitFieldsProps {
  draft: OrganizationDraft;
  server: Schemas["RateLimitsResponse"];
  error: unknown;
  onChange: (change: Partial<OrganizationDraft>) => void;
}

function servers(most: number | null): string {
  return most === null ? "The server has no limit." : `The server allows up to ${formatCount(most)}.`;
}

/** Rate limits of the organization's own; empty is the server's. */
export function LimitFields({ draft, server, error, onChange }: LimitFieldsProps) {
  const number = (value: string, most: number | null, change: (value: string) => void, label?: string) => (
    <Input
      type="number"
      inputMode="numeric"
      min={1}
      max={most ?? undefined}
      aria-label={label}
      placeholder={most === null ? "No limit" : String(most)}
      value={value}
      onChange={(event) => change(event.target.value)}
    />
  );
  const setModel = (index: number, change: Partial<ModelDraft>) =>
    onChange({ models: draft.models.map((item, position) => (position === index ? { ...item, ...change } : item)) });
  return (
    <>
      <div className="grid grid-cols-3 gap-3 max-md:grid-cols-1">
        <Field label="Calls a minute" hint={servers(server.requests_per_minute)} error={error} field="rate_limits.requests_per_minute">
          {number(draft.requests, server.requests_per_minute, (requests) => onChange({ requests }))}
        </Field>
        <Field label="Tokens a minute" hint={servers(server.tokens_per_minute)} error={error} field="rate_limits.tokens_per_minute">
          {number(draft.tokens, server.tokens_per_minute, (tokens) => onChange({ tokens }))}
        </Field>
        <Field
          label="Documents a minute"
          hint={servers(server.documents_per_minute)}
          error={error}
          field="rate_limits.documents_per_minute"
        >
          {number(draft.documents, server.documents_per_minute, (documents) => onChange({ documents }))}
        </Field>
      </div>
      {draft.models.map((item, index) => (
        <div key={index} className="flex flex-wrap items-end gap-2">
          <Field label="Model" error={error} field={`rate_limits.models[${index}].model`}>
            <Input
              className="font-mono text-xs"
              required
              placeholder="openai/text-embedding-3-small"
              value={item.model}
              onChange={(event) => setModel(index, { model: event.target.value })}
            />
          </Field>
          <Field label="Calls" error={error} field={`rate_limits.models[${index}].requests_per_minute`}>
            <Input
              className="w-[110px]!"
              type="number"
              min={1}
              value={item.requests}
              onChange={(event) => setModel(index, { requests: event.target.value })}
            />
          </Field>
          <Field label="Tokens" error={error} field={`rate_limits.models[${index}].tokens_per_minute`}>
            <Input
              className="w-[110px]!"
              type="number"
              min={1}
              value={item.tokens}
              onChange={(event) => setModel(index, { tokens: event.target.value })}
            />
          </Field>
          <Button
            variant="quiet"
            aria-label={`Remove the limits of ${item.model || "this model"}`}
            onClick={() => onChange({ models: draft.models.filter((_, position) => position !== index) })}
          >
            <X aria-hidden size={14} />
          </Button>
        </div>
      ))}
      <Button className="self-start" onClick={() => onChange({ models: [...draft.models, { model: "", requests: "", tokens: "" }] })}>
        <Plus aria-hidden size={14} /> Add limits for a model
      </Button>
    </>
  );
}
