"use client";

import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import Link from "next/link";

import { type Tag, tagIndexQuery } from "@/api/queries";
import { SkeletonRows } from "@/components/feedback";
import { NameList, useNameList } from "@/components/name-list";
import { State } from "@/components/state";
import { TagChips } from "@/components/tag-chip";
import { Time } from "@/components/time";
import { ButtonLink } from "@/components/ui/button";
import { DataTable } from "@/components/ui/data-table";
import { formatCount } from "@/lib/format";
import { useMay } from "@/state/permissions";

import { type ListedPrompt, promptListQuery } from "./queries";
import { runState } from "./run-words";

export function Prompts() {
  const list = useNameList(50);
  const mayChange = useMay("create_prompt");
  const answer = useQuery(promptListQuery(list.search, list.skip, list.rowsPerPage));
  const { data: tagIndex } = useQuery(tagIndexQuery());
  return (
    <NameList
      title="Prompts"
      called="No prompt is called"
      list={list}
      answer={answer}
      rows={answer.data?.prompts.length ?? 0}
      create={
        mayChange && (
          <ButtonLink href="/prompts/new/" variant="primary">
            <Plus aria-hidden size={14} /> New prompt
          </ButtonLink>
        )
      }
      empty={{
        title: "No prompts yet",
        text: "A prompt asks a model the same question about many documents. The answer is a text, or fields such as a due date.",
      }}
    >
      <DataTable
        caption="Prompts"
        head={
          <>
            <th data-column="name" className="pl-4!">
              Name
            </th>
            <th className="number w-[72px] max-md:hidden">Version</th>
            <th className="w-[170px] @max-[1003px]:hidden">Model</th>
            <th className="w-[18%] @max-[745px]:hidden">Tags</th>
            <th className="w-[16%] max-md:hidden">Knowledge base</th>
            <th className="w-[220px] max-md:w-[128px]">Last run</th>
          </>
        }
      >
        {answer.data === undefined ? (
          <SkeletonRows rows={8} columns={["50%", "40%", "70%", "50%", "60%", "60%"]} />
        ) : (
          answer.data.prompts.map((prompt) => <PromptRow key={prompt.prompt_id} prompt={prompt} tagIndex={tagIndex} />)
        )}
      </DataTable>
    </NameList>
  );
}

function PromptRow({ prompt, tagIndex }: { prompt: ListedPrompt; tagIndex: ReadonlyMap<string, Tag> | undefined }) {
  return (
    <tr data-item={prompt.prompt_id}>
      <td className="pl-4!">
        <Link href={`/prompts/view/?id=${prompt.prompt_id}`} className="block truncate font-medium hover:underline" title={prompt.name}>
          {prompt.name}
        </Link>
      </td>
      <td className="number max-md:hidden">{formatCount(prompt.version)}</td>
      <td className="text-text-2 @max-[1003px]:hidden" title={prompt.model ?? undefined}>
        {prompt.model ?? "default"}
      </td>
      <td className="@max-[745px]:hidden">
        <TagChips tagIds={prompt.tag_ids} index={tagIndex} most={2} />
      </td>
      <td className="max-md:hidden">
        {prompt.kb_id === null ? <span className="text-text-3">–</span> : <BaseName kbId={prompt.kb_id} name={prompt.kb_name} />}
      </td>
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
