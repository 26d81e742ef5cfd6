"use client";

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import Link from "next/link";

import { knowledgeBaseListQuery, type Tag, tagIndexQuery } from "@/api/queries";
import { SkeletonRows } from "@/components/feedback";
import { NameList, useNameList } from "@/components/name-list";
import { State } from "@/components/state";
import { TagChips } from "@/components/tag-chip";
import { Time } from "@/components/time";
import { ButtonLink } from "@/components/ui/button";
import { DataTable } from "@/components/ui/data-table";
import { formatCount } from "@/lib/format";
import { useMay } from "@/state/permissions";

import { type ListedKnowledgeBase, listedState, spusByBaseQuery } from "./queries";

export function KnowledgeBases() {
  const list = useNameList(100);
  const answer = useQuery({
    ...knowledgeBaseListQuery(list.search, list.rowsPerPage, list.skip),
    placeholderData: keepPreviousData,
    refetchInterval: (query) =>
      query.state.data?.knowledge_bases.some((base) => base.status === "indexing" || base.unfinished_jobs > 0) ? 4_000 : 20_000,
  });
  const { data } = answer;
  const { data: tagIndex } = useQuery(tagIndexQuery());
  const { data: spus } = useQuery({ ...spusByBaseQuery(), enabled: data !== undefined });
  const create = useMay("create_knowledge_base") && (
    <ButtonLink href="/kbs/new/" variant="primary">
      <Plus aria-hidden size={14} />{" "}
      <span>
        New<span className="max-md:sr-only"> knowledge base</span>
      </span>
    </ButtonLink>
  );
  return (
    <NameList
      title="Knowledge bases"
      called="No knowledge base is called"
      list={list}
      answer={answer}
      rows={data?.knowledge_bases.length ?? 0}
      create={create}
      empty={{ title: "No knowledge bases yet", text: "A knowledge base contains every document that shares its tags." }}
    >
      <DataTable
        caption="Knowledge bases"
        head={
          <>
            <th data-column="name" className="pl-4!">
              Name
            </th>
            <th className="w-[190px] max-md:hidden">Status</th>
            <th className="w-[18%] @max-[842px]:hidden">Tags</th>
            <th className="number w-[96px] max-md:w-[90px]">Documents</th>
            <th className="number w-[84px] max-md:hidden">Chunks</th>
            <th className="w-[190px] @max-[1195px]:hidden">Model</th>
            <th className="w-[120px] max-md:hidden">Last indexed</th>
            <th className="number w-[100px] @max-[964px]:hidden">SPUs, 30 d</th>
          </>
        }
      >
        {data === undefined ? (
          <SkeletonRows rows={8} columns={["50%", "60%", "50%", "40%", "40%", "70%", "60%", "40%"]} />
        ) : (
          data.knowledge_bases.map((base) => (
            <BaseRow key={base.kb_id} base={base} tagIndex={tagIndex} spus={spus && (spus.get(base.kb_id) ?? 0)} />
          ))
        )}
      </DataTable>
    </NameList>
  );
}

function BaseRow({
  base,
  tagIndex,
  spus,
}: {
  base: ListedKnowledgeBase;
  tagIndex: ReadonlyMap<string, Tag> | undefined;
  spus: number | undefined;
}) {
  const state = listedState(base);
  return (
    <tr data-item={base.kb_id}>
      <td className="pl-4!">
        <Link href={`/kbs/view/?id=${base.kb_id}`} className="block truncate font-medium hover:underline" title={base.name}>
          {base.name}
        </Link>
        <span className="md:hidden">
          <State tone={state.tone}>{state.label}</State>
        </span>
      </td>
      <td className="max-md:hidden">
        {base.given_up_jobs > 0 ? (
          <Link
            href={`/operations/?state=dead&kb=${base.kb_id}`}
            className="hover:underline"
            title={`${state.reason ?? ""} Open to replay failed jobs.`.trim()}
          >
            <State tone={state.tone}>{state.label}</State>
          </Link>
        ) : base.failed_document_count > 0 ? (
          <Link href={`/documents/?state=failed&kb=${base.kb_id}`} className="hover:underline" title="Show the failed documents">
            <State tone={state.tone}>{state.label}</State>
          </Link>
        ) : (
          <State tone={state.tone}>{state.label}</State>
        )}
        {state.reason && (
          <span className="block truncate text-xs text-text-2" title={state.reason}>
            {state.reason}
          </span>
        )}
      </td>
      <td className="@max-[842px]:hidden">
        <TagChips tagIds={base.tag_ids} index={tagIndex} most={2} />
      </td>
      <td className="number">{formatCount(base.document_count)}</td>
      <td className="number max-md:hidden">{formatCount(base.chunk_count)}</td>
      <td className="text-text-2 @max-[1195px]:hidden" title={base.embedding_model}>
        {base.embedding_model}
      </td>
      <td className="text-text-2 max-md:hidden">
        <Time at={base.last_indexed_at} />
      </td>
      <td className="number @max-[964px]:hidden">{spus === undefined ? "" : formatCount(spus)}</td>
    </tr>
  );
}
