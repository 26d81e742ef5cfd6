"use client";

import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import Link from "next/link";
import { parseAsInteger, parseAsString, useQueryStates } from "nuqs";

import { type Tag, tagIndexQuery } from "@/api/queries";
import { BusyLine, EmptyState, ErrorState, SkeletonRows } from "@/components/feedback";
import { PageHead } from "@/components/page-head";
import { Pager } from "@/components/pager";
import { State } from "@/components/state";
import { TagChips } from "@/components/tag-chip";
import { Time } from "@/components/time";
import { formatCount } from "@/lib/format";
import { useMay } from "@/lib/permissions";
import { useShortcuts } from "@/lib/shortcuts";
import { useTypedText } from "@/lib/use-debounced";

import { type ListedPrompt, promptListQuery } from "./queries";
import { runState } from "./run-words";

const PAGE = 50;

export function Prompts() {
  const [url, setUrl] = useQueryStates({ q: parseAsString.withDefault(""), page: parseAsInteger.withDefault(1) });
  const page = Math.max(1, url.page);
  const mayChange = useMay("create_prompt");
  const [text, setText] = useTypedText(url.q, (q) => void setUrl({ q, page: 1 }));
  const { data, error, isPlaceholderData, refetch } = useQuery(promptListQuery(url.q, (page - 1) * PAGE, PAGE));
  const { data: tagIndex } = useQuery(tagIndexQuery());
  useShortcuts([{ keys: "/", label: "Filter by name", group: "List", run: () => document.getElementById("prompt-filter")?.focus() }]);
  const create = mayChange && (
    <Link href="/prompts/new/" className="button button-primary">
      <Plus aria-hidden size={14} /> New prompt
    </Link>
  );
  const isEmpty = data?.prompts.length === 0 && !isPlaceholderData;
  return (
    <>
      <PageHead title="Prompts" aside={<span className="text-text-3 tabular-nums">{data ? formatCount(data.total_count) : ""}</span>}>
        {create}
      </PageHead>
      <div className="bar" role="search">
        <label className="min-w-0 flex-1 md:max-w-[320px]">
          <span className="sr-only">Filter by name</span>
          <input id="prompt-filter" className="field" placeholder="Filter by name" value={text} onChange={(event) => setText(event.target.value)} />
        </label>
      </div>
      <BusyLine isBusy={isPlaceholderData} />
      <div className="min-h-0 flex-1 overflow-auto">
        {error && !data ? (
          <ErrorState error={error} retry={() => void refetch()} />
        ) : isEmpty ? (
          <Nothing search={url.q} page={page} create={create} clear={() => void setUrl({ q: "", page: 1 })} />
        ) : (
          <table className="table">
            <caption className="sr-only">Prompts</caption>
            <thead>
              <tr>
                <th className="pl-4!">Name</th>
                <th className="number w-[72px]">Version</th>
                <th className="w-[170px] max-lg:hidden">Model</th>
                <th className="w-[18%] max-lg:hidden">Tags</th>
                <th className="w-[16%] max-md:hidden">Knowledge base</th>
                <th className="w-[220px] max-md:w-[128px]">Last run</th>
              </tr>
            </thead>
            <tbody>
              {data === undefined ? (
                <SkeletonRows rows={8} columns={["50%", "40%", "70%", "50%", "60%", "60%"]} />
              ) : (
                data.prompts.map((prompt) => <PromptRow key={prompt.prompt_id} prompt={prompt} tagIndex={tagIndex} />)
              )}
            </tbody>
          </table>
        )}
      </div>
      {data && data.total_count > PAGE && (
        <Pager
          skip={data.skip}
          shown={data.prompts.length}
          total={data.total_count}
          page={page}
          pageCount={Math.ceil(data.total_count / PAGE)}
          onPage={(next) => void setUrl({ page: next }, { history: "push" })}
        />
      )}
    </>
  );
}

function Nothing({ search, page, create, clear }: { search: string; page: number; create: React.ReactNode; clear: () => void }) {
  if (search === "" && page === 1) {
    return (
      <EmptyState title="No prompts yet" action={create}>
        A prompt asks a model the same of many documents: a text, or fields such as a due date and a sum.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      title={search === "" ? `There is no page ${page}` : `No prompt is called “${search}”`}
      action={
        <button type="button" className="button" onClick={clear}>
          {search === "" ? "Go to the first page" : "Clear the filter"}
        </button>
      }
    />
  );
}

function PromptRow({ prompt, tagIndex }: { prompt: ListedPrompt; tagIndex: ReadonlyMap<string, Tag> | undefined }) {
  return (
    <tr>
      <td className="pl-4!">
        <Link href={`/prompts/view/?id=${prompt.prompt_id}`} className="block truncate font-medium hover:underline" title={prompt.name}>
          {prompt.name}
        </Link>
      </td>
      <td className="number">{formatCount(prompt.version)}</td>
      <td className="text-text-2 max-lg:hidden" title={prompt.model ?? undefined}>
        {prompt.model ?? "default"}
      </td>
      <td className="max-lg:hidden">
        <TagChips tagIds={prompt.tag_ids} index={tagIndex} most={2} />
      </td>
      <td className="max-md:hidden">{prompt.kb_id === null ? <span className="text-text-3">–</span> : <BaseName kbId={prompt.kb_id} name={prompt.kb_name} />}</td>
      <td>
        <LastRun run={prompt.last_run} />
      </td>
    </tr>
  );
}

function BaseName({ kbId, name }: { kbId: string; name: string | null }) {
  if (name === null) return <span className="text-text-3">a deleted knowledge base</span>;
  return (
    <Link href={`/kbs/view/?id=${kbId}`} className="block truncate text-text-2 hover:underline" title={name}>
      {name}
    </Link>
  );
}

function LastRun({ run }: { run: ListedPrompt["last_run"] }) {
  if (run === null) return <span className="text-text-3">never</span>;
  const state = runState(run);
  return (
    <span className="flex min-w-0 items-center gap-2">
      <State tone={state.tone}>{state.label}</State>
      <span className="truncate text-text-3 max-md:hidden">
        <Time at={run.ended_at ?? run.created_at} />
      </span>
    </span>
  );
}
