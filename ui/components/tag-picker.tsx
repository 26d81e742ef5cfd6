"use client";

import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Command } from "cmdk";
import { Check, Minus, Plus } from "lucide-react";
import { Popover } from "radix-ui";
import { useDeferredValue, useState } from "react";

import { answered, api, idempotencyKey, organizationPath } from "@/api/client";
import { type Tag, tagListQuery } from "@/api/queries";
import { tagKeys } from "@/api/keys";
import { tellFailure } from "@/components/feedback";
import { useMay } from "@/state/permissions";
import { colourFor } from "@/lib/tag-colours";
import { stillMatching, useActiveItem } from "@/state/use-active-item";

export type Ticked = "all" | "some" | "none";

/** Tags to tick, found by the server as one types; one that does not exist is made in place. */
export function TagPicker({
  ticked,
  onToggle,
  children,
  canCreate = true,
  align = "start",
  open,
  onOpenChange,
}: {
  ticked: (tagId: string) => Ticked;
  onToggle: (tag: Tag, isOn: boolean) => void;
  children: React.ReactNode;
  canCreate?: boolean;
  align?: "start" | "end";
  open?: boolean;
  onOpenChange?: (open: boolean) => void;
}) {
  return (
    <Popover.Root {...(open !== undefined && { open })} {...(onOpenChange && { onOpenChange })}>
      <Popover.Trigger asChild>{children}</Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          className="layer appear z-50 w-[280px] overflow-hidden"
          align={align}
          sideOffset={4}
          collisionPadding={8}
          aria-label="Tags"
          onKeyDown={(event) => event.stopPropagation()}
        >
          <TagList ticked={ticked} onToggle={onToggle} canCreate={canCreate} />
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

function TagList({
  ticked,
  onToggle,
  canCreate: isCreating,
}: {
  ticked: (tagId: string) => Ticked;
  onToggle: (tag: Tag, isOn: boolean) => void;
  canCreate: boolean;
}) {
  const [text, setText] = useState("");
  const canCreate = useMay("create_tag") && isCreating;
  const wanted = useDeferredValue(text.trim());
  const { data, isPending, isPlaceholderData } = useQuery({ ...tagListQuery(wanted), placeholderData: keepPreviousData });
  const client = useQueryClient();
  const create = useMutation({
    mutationFn: (name: string) =>
      answered(
        api.POST("/v0/orgs/{organization_id}/tags", {
          params: { path: organizationPath() },
          body: { name, color: colourFor(name), description: "" },
          headers: idempotencyKey(),
        }),
      ),
    onSuccess: async (tag) => {
      setText("");
      await client.invalidateQueries({ queryKey: tagKeys.all });
      onToggle(tag, true);
    },
    onError: (error) => tellFailure("The tag was not created", error),
  });
  const isAwaited = isPlaceholderData || text.trim() !== wanted;
  const tags = stillMatching(data?.tags ?? [], isAwaited, (tag) => tag.name, text);
  const hasExact = tags.some((tag) => tag.name.toLowerCase() === wanted.toLowerCase());
  const offersNew = canCreate && wanted !== "" && !hasExact && !isPending && !isAwaited;
  const active = useActiveItem([...tags.map((tag) => tag.tag_id), ...(offersNew ? ["create-tag"] : [])]);
  return (
    <Command shouldFilter={false} label="Tags" {...active}>
      <Command.Input
        autoFocus
        value={text}
        onValueChange={setText}
        placeholder="Find a tag"
        className="h-9 w-full border-b border-line bg-transparent px-3 outline-none focus-visible:border-focus"
      />
      <Command.List className="max-h-[280px] overflow-y-auto p-1">
        {!isPending && !isAwaited && tags.length === 0 && (wanted === "" || !canCreate) && (
          <div className="px-2 py-3 text-text-2">
            {wanted === "" ? (canCreate ? "No tags yet. Type a name to create one." : "No tags yet.") : "No tag has this name."}
          </div>
        )}
        {tags.map((tag) => {
          const state = ticked(tag.tag_id);
          return (
            <Command.Item
              key={tag.tag_id}
              value={tag.tag_id}
              className="menu-item"
              onSelect={() => onToggle(tag, state !== "all")}
              aria-checked={state === "all" ? true : state === "some" ? "mixed" : false}
            >
              <span aria-hidden className="flex size-4 shrink-0 items-center justify-center rounded border border-control">
                {state === "all" && <Check size={12} />}
                {state === "some" && <Minus size={12} />}
              </span>
              <span aria-hidden className="size-2 shrink-0 rounded-full" style={{ background: tag.color }} />
              <span className="truncate">{tag.name}</span>
            </Command.Item>
          );
        })}
        {offersNew && (
          <Command.Item className="menu-item" value="create-tag" onSelect={() => create.mutate(wanted)} disabled={create.isPending}>
            <Plus aria-hidden size={14} /> Create tag “{wanted}”
          </Command.Item>
        )}
        {data && !isAwaited && data.total_count > tags.length && (
          <div className="px-2 py-1 text-xs text-text-3">{data.total_count - tags.length} more: type to find them</div>
        )}
      </Command.List>
    </Command>
  );
}
