"use client";

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import Link from "next/link";
import { parseAsInteger, parseAsString, useQueryStates } from "nuqs";

import { knowledgeBaseListQuery, tagIndexQuery } from "@/api/queries";
import { BusyLine, EmptyState, ErrorState, SkeletonRows } from "@/components/feedback";
import { PageHead } from "@/components/page-head";
import { Pager } from "@/components/pager";
import { State } from "@/components/state";
import { TagChips } from "@/components/tag-chip";
import { Time } from "@/components/time";
import { formatCount } from "@/lib/format";
import { useListPlace } from "@/lib/list-place";
import { useMay } from "@/lib/permissions";
import { useShortcuts } from "@/lib/shortcuts";
import { useTypedText } from "@/lib/use-debounced";

import { listedState, spusByBaseQuery } from "./queries";

const PAGE = 100;

export function KnowledgeBases() {
  const [url, setUrl] = useQueryStates({ q: parseAsString.withDefault(""), page: parseAsInteger.withDefault(1) });
  const page = Math.max(1, url.page);
  const [text, setText] = useTypedText(url.q, (q) => void setUrl({ q, page: 1 }));
  const { data, error, isPlaceholderData, refetch } = useQuery({
    ...knowledgeBaseListQuery(url.q, PAGE, (page - 1) * PAGE),
    placeholderData: keepPreviousData,
    refetchInterval: (query) =>
      query.state.data?.knowledge_bases.some((base) => base.status === "indexing" || base.unfinished_jobs > 0) ? 4_000 : 20_000,
  });
  const { data: tagIndex } = useQuery(tagIndexQuery());
  const { data: spus } = useQuery({ ...spusByBaseQuery(), enabled: data !== undefined });
  useShortcuts([
    { keys: "/", label: "Filter by name", group: "List", run: () => document.getElementById("kb-filter")?.focus() },
  ]);
  const place = useListPlace({ name: "kbs", view: JSON.stringify([url.q, page]), isReady: data !== undefined && !isPlaceholderData });
  const create = useMay("create_knowledge_base") && (
    <Link href="/kbs/new/" className="button button-primary">
      <Plus aria-hidden size={14} /> <span>
        New<span className="max-md:sr-only"> knowledge base</span>
      </span>
    </Link>
  );
  const isEmpty = data?.total_count === 0 && !isPlaceholderData;
  return (
    <>
      <PageHead
        title="Knowledge bases"
        aside={<span className="text-text-3 tabular-nums">{data ? formatCount(data.total_count) : ""}</span>}
      >
        {create}
      </PageHead>
      <div className="bar" role="search">
        <label className="min-w-0 flex-1 md:max-w-[320px]">
          <span className="sr-only">Filter by name</span>
          <input id="kb-filter" className="field" placeholder="Filter by name" value={text} onChange={(event) => setText(event.target.value)} />
        </label>
      </div>
      <BusyLine isBusy={isPlaceholderData} />
      <div {...place.props} className="min-h-0 flex-1 overflow-auto">
        {error && !data ? (
          <ErrorState error={error} retry={() => void refetch()} />
        ) : isEmpty && url.q ? (
          <EmptyState
            title={`No knowledge base is called “${url.q}”`}
            action={
              <button type="button" className="button" onClick={() => void setUrl({ q: "" })}>
                Clear the filter
              </button>
            }
          />
        ) : isEmpty ? (
          <EmptyState title="No knowledge bases yet" action={create}>
            A knowledge base gathers every document that shares its tags.
          </EmptyState>
        ) : (
          <table className="table">
            <caption className="sr-only">Knowledge bases</caption>
            <thead>
              <tr>
                <th className="pl-4!">Name</th>
                <th className="w-[190px] max-md:hidden">Status</th>
                <th className="w-[18%] max-lg:hidden">Tags</th>
                <th className="number w-[96px] max-md:w-[90px]">Documents</th>
                <th className="number w-[84px] max-md:hidden">Chunks</th>
                <th className="w-[190px] max-lg:hidden">Model</th>
                <th className="w-[120px] max-md:hidden">Last indexed</th>
                <th className="number w-[100px] max-lg:hidden">SPUs, 30 d</th>
              </tr>
            </thead>
            <tbody>
              {data === undefined ? (
                <SkeletonRows rows={8} columns={["50%", "60%", "50%", "40%", "40%", "70%", "60%", "40%"]} />
              ) : (
                data.knowledge_bases.map((base) => {
                  const state = listedState(base);
                  return (
                    <tr key={base.kb_id} data-item={base.kb_id}>
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
                            title={`${state.reason ?? ""} Open to replay what was given up.`.trim()}
                          >
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
                      <td className="max-lg:hidden">
                        <TagChips tagIds={base.tag_ids} index={tagIndex} most={2} />
                      </td>
                      <td className="number">{formatCount(base.document_count)}</td>
                      <td className="number max-md:hidden">{formatCount(base.chunk_count)}</td>
                      <td className="text-text-2 max-lg:hidden" title={base.embedding_model}>
                        {base.embedding_model}
                      </td>
                      <td className="text-text-2 max-md:hidden">
                        <Time at={base.last_indexed_at} />
                      </td>
                      <td className="number max-lg:hidden">{spus ? formatCount(spus.get(base.kb_id) ?? 0) : ""}</td>
                    </tr>
                  );
                })
              )}
            </tbody>
          </table>
        )}
      </div>
      {data && data.total_count > PAGE && (
        <Pager
          skip={data.skip}
          shown={data.knowledge_bases.length}
          total={data.total_count}
          page={page}
          pageCount={Math.ceil(data.total_count / PAGE)}
          onPage={(next) => void setUrl({ page: next }, { history: "push" })}
        />
      )}
    </>
  );
}
