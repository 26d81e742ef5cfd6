"use client";

import { useQuery } from "@tanstack/react-query";
import { ChevronDown } from "lucide-react";
import { useState } from "react";

import { tagIndexQuery } from "@/api/queries";
import { ErrorState } from "@/components/feedback";
import { Pager } from "@/components/pager";
import { TagChips } from "@/components/tag-chip";
import { TagPicker } from "@/components/tag-picker";
import { Button } from "@/components/ui/button";
import { Input } from "@/components/ui/field";
import { formatCount } from "@/lib/format";
import { useDebounced } from "@/state/use-debounced";

import { documentChoiceQuery } from "./queries";

const PAGE = 50;

/** Documents whose text was read, to tick; what is ticked stays through searches and pages. */
export function DocumentChooser({
  chosen,
  onChange,
}: {
  chosen: ReadonlyMap<string, string>;
  onChange: (chosen: ReadonlyMap<string, string>) => void;
}) {
  const [text, setText] = useState("");
  const [tagIds, setTagIds] = useState<readonly string[]>([]);
  const [page, setPage] = useState(1);
  const search = useDebounced(text.trim(), 300);
  const { data: tagIndex } = useQuery(tagIndexQuery());
  const { data, error, refetch } = useQuery(documentChoiceQuery(search, tagIds, (page - 1) * PAGE, PAGE));
  const documents = data?.documents ?? [];
  const areAllTicked = documents.length > 0 && documents.every((document) => chosen.has(document.document_id));
  const isSomeTicked = documents.some((document) => chosen.has(document.document_id));
  const tick = (ids: readonly { document_id: string; document_name: string }[], isOn: boolean) => {
    const changed = new Map(chosen);
    for (const { document_id: id, document_name: name } of ids) {
      if (isOn) changed.set(id, name);
      else changed.delete(id);
    }
    onChange(changed);
  };
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap gap-2">
        <label className="min-w-[140px] flex-1">
          <span className="sr-only">Find documents by name</span>
          <Input
            placeholder="Find documents by name"
            value={text}
            onChange={(event) => {
              setText(event.target.value);
              setPage(1);
            }}
          />
        </label>
        <TagPicker
          canCreate={false}
          align="end"
          ticked={(id) => (tagIds.includes(id) ? "all" : "none")}
          onToggle={(tag, isOn) => {
            setTagIds(isOn ? [...tagIds, tag.tag_id] : tagIds.filter((id) => id !== tag.tag_id));
            setPage(1);
          }}
        >
          <Button className="max-w-[240px]">
            <span className="truncate">
              {tagIds.length === 0 ? "Tags" : `Tags: ${tagIds.map((id) => tagIndex?.get(id)?.name ?? "…").join(" and ")}`}
            </span>
            <ChevronDown aria-hidden size={14} className="shrink-0" />
          </Button>
        </TagPicker>
      </div>
      <div className="overflow-hidden rounded-lg border border-line">
        <div className="flex min-h-9 items-center gap-3 border-b border-line bg-sunken px-3">
          <label className="flex min-h-6 items-center gap-3">
            <input
              type="checkbox"
              checked={areAllTicked}
              ref={(box) => {
                if (box) box.indeterminate = isSomeTicked && !areAllTicked;
              }}
              disabled={documents.length === 0}
              onChange={(event) => tick(documents, event.target.checked)}
            />
            All on this page
          </label>
          <span className="flex-1" />
          <span role="status" className="text-text-2">
            {formatCount(chosen.size)} chosen
          </span>
          {chosen.size > 0 && (
            <Button variant="quiet" size="small" onClick={() => onChange(new Map())}>
              Clear
            </Button>
          )}
        </div>
        {error && !data ? (
          <ErrorState error={error} retry={() => void refetch()} />
        ) : data?.total_count === 0 ? (
          <p className="px-3 py-6 text-center text-text-2">
            {search === "" && tagIds.length === 0 ? "No documents with text yet. Upload some under Documents." : "No documents match."}
          </p>
        ) : (
          <ul aria-label="Documents" tabIndex={0} className="h-[240px] overflow-y-auto">
            {documents.map((document) => (
              <li key={document.document_id}>
                <label className="flex min-h-9 items-center gap-3 px-3 hover:bg-hover">
                  <input
                    type="checkbox"
                    checked={chosen.has(document.document_id)}
                    onChange={(event) => tick([document], event.target.checked)}
                  />
                  <span className="min-w-0 flex-1 truncate" title={document.document_name}>
                    {document.document_name}
                  </span>
                  <TagChips tagIds={document.tag_ids} index={tagIndex} most={2} narrowMost={1} />
                </label>
              </li>
            ))}
          </ul>
        )}
        {data && data.total_count > PAGE && (
          <Pager
            skip={data.skip}
            shown={documents.length}
            total={data.total_count}
            page={page}
            pageCount={Math.ceil(data.total_count / PAGE)}
            onPage={setPage}
          />
        )}
      </div>
    </div>
  );
}
