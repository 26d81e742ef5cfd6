"use client";

import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { Command } from "cmdk";
import { Check, ChevronDown } from "lucide-react";
import { Popover } from "radix-ui";
import { useDeferredValue, useState } from "react";

import { knowledgeBaseListQuery, knowledgeBaseQuery } from "@/api/queries";
import { Button } from "@/components/ui/button";
import { stillMatching, useActiveItem } from "@/state/use-active-item";

const MOST = 20;

/** One or several knowledge bases, found by the server as one types. */
export function BasePicker({ kbIds, onChange }: { kbIds: readonly string[]; onChange: (kbIds: string[]) => void }) {
  const chosen = useQueries({ queries: kbIds.map((id) => ({ ...knowledgeBaseQuery(id), staleTime: 60_000 })) });
  const [text, setText] = useState("");
  const wanted = useDeferredValue(text.trim());
  const { data, isPlaceholderData } = useQuery({ ...knowledgeBaseListQuery(wanted, 50), placeholderData: keepPreviousData });
  const isAwaited = isPlaceholderData || text.trim() !== wanted;
  const bases = data && stillMatching(data.knowledge_bases, isAwaited, (base) => base.name, text);
  const active = useActiveItem(bases?.map((base) => base.kb_id) ?? []);
  const names = chosen.map((query) => query.data?.name ?? (query.error ? "unknown" : "…"));
  const label =
    names.length === 0 ? "Choose a knowledge base" : names.length <= 2 ? names.join(" and ") : `${names.length} knowledge bases`;
  const toggle = (id: string) => {
    if (kbIds.includes(id)) onChange(kbIds.filter((other) => other !== id));
    else if (kbIds.length < MOST) onChange([...kbIds, id]);
  };
  return (
    <Popover.Root onOpenChange={() => setText("")}>
      <Popover.Trigger asChild>
        <Button className="w-[220px] justify-between max-md:w-auto max-md:flex-1">
          <span className="truncate">{label}</span>
          <ChevronDown aria-hidden size={14} className="shrink-0" />
        </Button>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          className="layer appear z-50 w-[300px] overflow-hidden"
          align="end"
          sideOffset={4}
          collisionPadding={8}
          aria-label="Knowledge bases"
        >
          <Command shouldFilter={false} label="Knowledge bases" {...active}>
            <Command.Input
              autoFocus
              value={text}
              onValueChange={setText}
              placeholder="Find a knowledge base"
              className="h-9 w-full border-b border-line bg-transparent px-3 outline-none focus-visible:border-focus"
            />
            <Command.List className="max-h-[300px] overflow-y-auto p-1">
              {!isAwaited && bases?.length === 0 && <div className="px-2 py-3 text-text-2">No knowledge base has this name.</div>}
              {bases?.map((base) => (
                <Command.Item
                  key={base.kb_id}
                  value={base.kb_id}
                  className="menu-item"
                  aria-checked={kbIds.includes(base.kb_id)}
                  onSelect={() => toggle(base.kb_id)}
                >
                  <span aria-hidden className="flex size-4 shrink-0 items-center justify-center rounded border border-control">
                    {kbIds.includes(base.kb_id) && <Check size={12} />}
                  </span>
                  <span className="truncate">{base.name}</span>
                </Command.Item>
              ))}
            </Command.List>
          </Command>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}
