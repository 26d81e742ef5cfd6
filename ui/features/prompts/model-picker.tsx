"use client";

import { useQuery } from "@tanstack/react-query";
import { Command } from "cmdk";
import { Check, ChevronDown } from "lucide-react";
import Link from "next/link";
import { Popover } from "radix-ui";
import { useDeferredValue, useState } from "react";
import { type Control, useController } from "react-hook-form";

import { providersQuery } from "@/api/queries";

import { fieldClass } from "@/components/ui/field";
import { FieldProblem } from "@/components/ui/form";
import { stillMatching, useActiveItem } from "@/state/use-active-item";

import type { Draft } from "./draft";
import { chatModelsQuery, type Model } from "./queries";

const DOLLARS = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 2 });

/** The chat model: those that there is a key for, found by the server; and why others are not among them. */
export function ModelPicker({ control, needsTools }: { control: Control<Draft>; needsTools: boolean }) {
  const { field } = useController({ control, name: "model" });
  const model = field.value;
  const [isOpen, setOpen] = useState(false);
  const chosen = useQuery({ ...chatModelsQuery(model ?? ""), enabled: model !== null });
  const known = chosen.data?.models.find((item) => item.model === model);
  const choose = (name: string | null) => {
    field.onChange(name);
    setOpen(false);
  };
  return (
    <div className="flex flex-col gap-1">
      <span className="font-medium" id="model-label">
        Model
      </span>
      <Popover.Root open={isOpen} onOpenChange={setOpen}>
        <Popover.Trigger asChild>
          <button type="button" className={fieldClass("flex items-center gap-2 text-left")} aria-labelledby="model-label model-value">
            <span id="model-value" className="min-w-0 flex-1 truncate">
              {model ?? "The organization's default"}
            </span>
            <ChevronDown aria-hidden size={14} className="shrink-0" />
          </button>
        </Popover.Trigger>
        <Popover.Portal>
          <Popover.Content
            className="layer appear z-50 w-[min(420px,calc(100vw-16px))] overflow-hidden"
            align="start"
            sideOffset={4}
            collisionPadding={8}
            aria-label="Models"
            onKeyDown={(event) => event.stopPropagation()}
          >
            <ModelList model={model} onChoose={choose} />
          </Popover.Content>
        </Popover.Portal>
      </Popover.Root>
      {known && needsTools && known.supports_tools === false && (
        <span className="text-warn">This model cannot call tools, so it cannot search the knowledge base.</span>
      )}
      {known && (
        <span className="text-text-3">
          {priceWords(known)}
          {known.supports_structured_output === false && " · gets the fields as instructions; its answers are still checked"}
        </span>
      )}
      <FieldProblem control={control} name="model" />
    </div>
  );
}

function priceWords({ input_usd_per_million_tokens: asked, output_usd_per_million_tokens: answered }: Model): string {
  if (asked === null || answered === null) return "Price unknown";
  return `US$${DOLLARS.format(asked)} input, US$${DOLLARS.format(answered)} output per million tokens`;
}

function ModelList({ model, onChoose }: { model: string | null; onChoose: (model: string | null) => void }) {
  const [text, setText] = useState("");
  const wanted = useDeferredValue(text.trim());
  const { data, error, isPending, isPlaceholderData } = useQuery(chatModelsQuery(wanted));
  const providers = useQuery(providersQuery());
  const isAwaited = isPlaceholderData || text.trim() !== wanted;
  const models = stillMatching(data?.models ?? [], isAwaited, (item) => item.model, text);
  const unreachable = Object.entries(data?.unreachable ?? {});
  const configured = providers.data?.llm_providers.map((provider) => provider.litellm_provider) ?? [];
  const active = useActiveItem([...(wanted === "" ? ["default"] : []), ...models.map((item) => item.model)]);
  return (
    <Command shouldFilter={false} label="Models" {...active}>
      <Command.Input
        autoFocus
        value={text}
        onValueChange={setText}
        placeholder="Find a model"
        className="h-9 w-full border-b border-line bg-transparent px-3 outline-none focus-visible:border-focus"
      />
      <Command.List className="max-h-[300px] overflow-y-auto p-1">
        {wanted === "" && (
          <Command.Item className="menu-item" value="default" onSelect={() => onChoose(null)}>
            <Tick isOn={model === null} /> The organization&apos;s default
          </Command.Item>
        )}
        {models.map((item) => (
          <Command.Item key={item.model} className="menu-item" value={item.model} onSelect={() => onChoose(item.model)}>
            <Tick isOn={item.model === model} />
            <span className="min-w-0 flex-1 truncate" title={item.model}>
              {item.model}
            </span>
            {item.supports_tools === false && <span className="shrink-0 text-xs text-text-3">cannot search</span>}
          </Command.Item>
        ))}
        {isPending && <div className="px-2 py-2 text-text-2">Loading models…</div>}
        {error && !data && <div className="px-2 py-2 text-failed">{error.message}</div>}
        {data && !isAwaited && models.length === 0 && (
          <div className="px-2 py-2 text-text-2">
            {wanted === "" ? "No provider has a key yet." : `No available model matches “${wanted}”.`}
          </div>
        )}
        {data && !isAwaited && data.total_count > models.length && (
          <div className="px-2 py-1 text-xs text-text-3">{data.total_count - models.length} more: type to find them</div>
        )}
      </Command.List>
      <div className="flex flex-col gap-1 border-t border-line px-3 py-2 text-xs text-text-3">
        {unreachable.map(([provider, reason]) => (
          <span key={provider} className="break-words text-warn">
            {provider}: {reason}
          </span>
        ))}
        <span>
          {configured.length > 0 ? `These are the models of ${configured.join(", ")}. Others` : "Models"} need a key under{" "}
          <Link href="/settings/providers/" className="text-link underline">
            Settings, Providers
          </Link>
          .
        </span>
      </div>
    </Command>
  );
}

function Tick({ isOn }: { isOn: boolean }) {
  return (
    <span aria-hidden className="flex size-4 shrink-0 items-center justify-center">
      {isOn && <Check size={13} />}
    </span>
  );
}
