"use client";

import { useQuery } from "@tanstack/react-query";
import { ChevronDown, Search, X } from "lucide-react";
import { DropdownMenu, Popover } from "radix-ui";
import { knowledgeBaseQuery, type Tag } from "@/api/queries";
import { TagPicker } from "@/components/tag-picker";
import { Button } from "@/components/ui/button";
import { Input } from "@/components/ui/field";
import { Select } from "@/components/ui/select";
import { failureLabel } from "@/lib/document-state";
import { useTypedText } from "@/state/use-debounced";

import { type ExtractionState, type FileType, TAG_OPERATORS, type TagOperator } from "./queries";
import { STATE_CHOICES, STATE_LABELS, TYPE_CHOICES, TYPE_LABELS } from "./use-documents-url";

interface FilterUrl {
  q: string;
  state: ExtractionState[];
  type: FileType[];
  tags: string[];
  tagop: TagOperator;
  kb: string | null;
  error: string | null;
  from: string;
  to: string;
}

const OPERATOR_LABELS: Record<TagOperator, string> = { all: "All of them", any: "Any of them", none: "None of them" };
const OPERATOR_WORDS: Record<TagOperator, string> = { all: " and ", any: " or ", none: " nor " };

export function FilterBar({
  fieldRef,
  url,
  setUrl,
  filterCount,
  tagIndex,
  onClear,
}: {
  fieldRef: React.RefObject<HTMLInputElement | null>;
  url: FilterUrl;
  setUrl: (change: Partial<FilterUrl>) => void;
  filterCount: number;
  tagIndex: ReadonlyMap<string, Tag> | undefined;
  onClear: () => void;
}) {
  const [text, setText] = useTypedText(url.q, (q) => setUrl({ q }));
  const tagNames = url.tags.map((id) => tagIndex?.get(id)?.name ?? "unknown tag");
  return (
    <div className="bar" role="search" aria-label="Filter documents">
      <label className="relative min-w-[130px] flex-1 max-md:basis-full md:max-w-[320px]">
        <span className="sr-only">Filter by name</span>
        <Search aria-hidden size={14} className="pointer-events-none absolute top-1/2 left-2.5 -translate-y-1/2 text-text-3" />
        <Input
          ref={fieldRef}
          className="pl-8"
          placeholder="Filter by name"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") event.currentTarget.blur();
          }}
        />
      </label>
      <TagPicker
        canCreate={false}
        ticked={(id) => (url.tags.includes(id) ? "all" : "none")}
        onToggle={(tag, isOn) => setUrl({ tags: isOn ? [...url.tags, tag.tag_id] : url.tags.filter((id) => id !== tag.tag_id) })}
      >
        <Button className="max-w-[240px]">
          <span className="truncate">
            {tagNames.length === 0
              ? "Tags"
              : `${url.tagop === "none" ? "Not tagged" : "Tags"}: ${tagNames.join(OPERATOR_WORDS[url.tagop])}`}
          </span>
          <ChevronDown aria-hidden size={14} className="shrink-0" />
        </Button>
      </TagPicker>
      {url.tags.length > 0 && (
        <Select
          className="w-auto!"
          aria-label="How tags must match"
          value={url.tagop}
          onChange={(event) => setUrl({ tagop: event.target.value as TagOperator })}
        >
          {TAG_OPERATORS.map((operator) => (
            <option key={operator} value={operator}>
              {OPERATOR_LABELS[operator]}
            </option>
          ))}
        </Select>
      )}
      <ChoiceFilter
        label="State"
        choices={STATE_CHOICES}
        labels={STATE_LABELS}
        chosen={url.state}
        onChange={(state) => setUrl({ state })}
      />
      <ChoiceFilter label="Type" choices={TYPE_CHOICES} labels={TYPE_LABELS} chosen={url.type} onChange={(type) => setUrl({ type })} />
      <AddedFilter from={url.from} to={url.to} onChange={setUrl} />
      {url.kb && <BaseFilter kbId={url.kb} onClear={() => setUrl({ kb: null })} />}
      {url.error && (
        <Button className="bg-selected max-w-[280px]" title="Remove this filter" onClick={() => setUrl({ error: null })}>
          <span className="truncate">Failed: {failureLabel(url.error)}</span>
          <X aria-hidden size={13} className="shrink-0" />
        </Button>
      )}
      {filterCount > 0 && (
        <Button variant="quiet" onClick={onClear}>
          {filterCount} {filterCount === 1 ? "filter" : "filters"} · Clear
        </Button>
      )}
    </div>
  );
}

function BaseFilter({ kbId, onClear }: { kbId: string; onClear: () => void }) {
  const { data } = useQuery(knowledgeBaseQuery(kbId));
  return (
    <Button className="bg-selected max-w-[280px]" title="Remove this filter" onClick={onClear}>
      <span className="truncate">In {data?.name ?? "one knowledge base"}</span>
      <X aria-hidden size={13} className="shrink-0" />
    </Button>
  );
}

/** Some of a few choices: any of them may be a document's own. */
function ChoiceFilter<Choice extends string>({
  label,
  choices,
  labels,
  chosen,
  onChange,
}: {
  label: string;
  choices: readonly Choice[];
  labels: Record<Choice, string>;
  chosen: readonly Choice[];
  onChange: (chosen: Choice[]) => void;
}) {
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger asChild>
        <Button className="max-w-[240px]">
          <span className="truncate">
            {chosen.length === 0 ? label : `${label}: ${chosen.map((choice) => labels[choice]).join(" or ")}`}
          </span>
          <ChevronDown aria-hidden size={14} className="shrink-0" />
        </Button>
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="layer appear z-50 min-w-[200px] p-1" align="start" sideOffset={4} collisionPadding={8}>
          {choices.map((choice) => (
            <DropdownMenu.CheckboxItem
              key={choice}
              className="menu-item"
              checked={chosen.includes(choice)}
              onCheckedChange={(isOn) => onChange(isOn ? [...chosen, choice] : chosen.filter((other) => other !== choice))}
              onSelect={(event) => event.preventDefault()}
            >
              <span className="w-4">
                <DropdownMenu.ItemIndicator>✓</DropdownMenu.ItemIndicator>
              </span>
              {labels[choice]}
            </DropdownMenu.CheckboxItem>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

/** Between which days a document was added. */
function AddedFilter({ from, to, onChange }: { from: string; to: string; onChange: (change: { from?: string; to?: string }) => void }) {
  const words = from && to ? `${from} to ${to}` : from ? `from ${from}` : to ? `until ${to}` : "";
  return (
    <Popover.Root>
      <Popover.Trigger asChild>
        <Button className={words ? "" : "max-md:hidden"}>
          {words ? `Added: ${words}` : "Added"}
          <ChevronDown aria-hidden size={14} className="shrink-0" />
        </Button>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content className="layer appear z-50 flex w-[220px] flex-col gap-3 p-3" align="start" sideOffset={4} collisionPadding={8}>
          <label className="flex flex-col gap-1">
            From
            <Input type="date" value={from} {...(to && { max: to })} onChange={(event) => onChange({ from: event.target.value })} />
          </label>
          <label className="flex flex-col gap-1">
            Until (inclusive)
            <Input type="date" value={to} {...(from && { min: from })} onChange={(event) => onChange({ to: event.target.value })} />
          </label>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}
