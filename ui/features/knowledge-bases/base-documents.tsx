"use client";

import { useQuery } from "@tanstack/react-query";
import Link from "next/link";

import type { KnowledgeBase } from "@/api/queries";
import type { Schemas } from "@/api/client";
import { EmptyState, ErrorState, SkeletonRows } from "@/components/feedback";
import { May } from "@/components/may";
import { Pager } from "@/components/pager";
import { State } from "@/components/state";
import { Time } from "@/components/time";
import { ButtonLink } from "@/components/ui/button";
import { DataTable } from "@/components/ui/data-table";
import { formatCount } from "@/lib/format";
import { useListPlace } from "@/state/list-place";
import { useLastPage } from "@/state/use-last-page";

import { baseJobsQuery, indexedDocumentsQuery } from "./queries";

const PAGE = 50;
/** Of what is not indexed yet; the rest is under Operations. */
const MOST_UNFINISHED = 20;

export function BaseDocuments({
  base,
  page,
  onPage,
  onLastPage,
}: {
  base: KnowledgeBase;
  page: number;
  onPage: (page: number) => void;
  /** Where the address names a page past the last one. */
  onLastPage: (page: number) => void;
}) {
  const { data, error, refetch } = useQuery({
    ...indexedDocumentsQuery(base.kb_id, (page - 1) * PAGE, PAGE, base.chunk_count),
    refetchInterval: base.status === "indexing" ? 4_000 : 15_000,
  });
  useLastPage(page, data?.total_count, PAGE, onLastPage);
  const place = useListPlace({ name: "kb-documents", view: `${base.kb_id} ${page}`, isReady: data !== undefined });
  if (error && !data) return <ErrorState error={error} retry={() => void refetch()} />;
  return (
    <>
      <div {...place.props} className="min-h-0 flex-1 overflow-auto">
        <Unfinished base={base} />
        {data?.total_count === 0 ? (
          <EmptyState
            title={base.tag_ids.length === 0 ? "No tags, so no documents" : "No documents yet"}
            action={
              base.tag_ids.length === 0 ? (
                <May to="update_knowledge_base">
                  <ButtonLink href={`/kbs/view/?id=${base.kb_id}&tab=settings`}>Add tags</ButtonLink>
                </May>
              ) : (
                <ButtonLink href="/documents/">Go to documents</ButtonLink>
              )
            }
          >
            Every document that shares a tag with the knowledge base is indexed automatically.
          </EmptyState>
        ) : (
          <DataTable
            caption="Indexed documents"
            isCards
            head={
              <>
                <th data-column="name" className="pl-4!">
                  Name
                </th>
                <th className="w-[120px] max-md:hidden">State</th>
                <th className="number w-[90px]">Chunks</th>
                <th className="w-[130px] max-md:w-[110px]">Indexed</th>
              </>
            }
          >
            {data === undefined ? (
              <SkeletonRows rows={10} columns={["50%", "60%", "40%", "60%"]} />
            ) : (
              data.documents.map((document) => (
                <tr key={document.document_id} data-item={document.document_id}>
                  <td className="pl-4!">
                    <Link
                      className="block truncate hover:underline"
                      href={`/documents/view/?id=${document.document_id}`}
                      title={document.document_name}
                    >
                      {document.document_name}
                    </Link>
                    <span className="md:hidden">
                      <State tone="ready">Ready</State>
                    </span>
                  </td>
                  <td className="max-md:hidden">
                    <State tone="ready">Ready</State>
                  </td>
                  <td className="number" data-label="Chunks">
                    <Link
                      className="hover:underline"
                      href={`/kbs/view/?id=${base.kb_id}&tab=chunks&document=${document.document_id}`}
                      title="Show its chunks"
                    >
                      {formatCount(document.chunk_count)}
                    </Link>
                  </td>
                  <td className="text-text-2" data-label="Indexed">
                    <Time at={document.indexed_at} />
                  </td>
                </tr>
              ))
            )}
          </DataTable>
        )}
      </div>
      {data && data.total_count > PAGE && (
        <Pager
          skip={data.skip}
          shown={data.documents.length}
          total={data.total_count}
          page={page}
          pageCount={Math.ceil(data.total_count / PAGE)}
          onPage={onPage}
        />
      )}
    </>
  );
}

/** Documents that are not indexed in it yet, and those that could not be, with the reason. */
function Unfinished({ base }: { base: KnowledgeBase }) {
  const dead = useQuery(baseJobsQuery(base.kb_id, "dead"));
  const running = useQuery(baseJobsQuery(base.kb_id, "running"));
  const waiting = useQuery(baseJobsQuery(base.kb_id, "available"));
  const jobs = [dead, running, waiting]
    .flatMap((query) => query.data?.jobs ?? [])
    .filter((job) => job.kind === "sync" && job.document_id !== null);
  if (jobs.length === 0) return null;
  return (
    <section aria-label="Not indexed yet" className="border-b border-line">
      <h2 className="px-4 pt-3 font-semibold">Not indexed yet</h2>
      <ul>
        {jobs.slice(0, MOST_UNFINISHED).map((job) => (
          <UnfinishedRow key={job.job_id} job={job} />
        ))}
      </ul>
      {jobs.length > MOST_UNFINISHED && (
        <Link className="block px-4 pb-3 text-link hover:underline" href={`/operations/?kb=${base.kb_id}`}>
          {formatCount(jobs.length - MOST_UNFINISHED)} more
        </Link>
      )}
    </section>
  );
}

function UnfinishedRow({ job }: { job: Schemas["ListedJobResponse"] }) {
  const isQuota = job.error?.code === "quota_exceeded";
  const tone =
    job.state === "dead"
      ? "failed"
      : job.state === "running"
        ? "working"
        : isQuota
          ? "waiting-for-quota"
          : job.waits_for === "provider"
            ? "waiting-for-provider"
            : "queued";
  const words =
    job.state === "dead"
      ? "Failed"
      : job.state === "running"
        ? job.progress
          ? `Indexing ${formatCount(job.progress.done)} of ${formatCount(job.progress.total)}`
          : "Indexing"
        : isQuota
          ? "Waiting for quota"
          : "Waiting";
  return (
    <li className="flex flex-wrap items-center gap-x-4 px-4 py-1.5">
      <Link className="min-w-0 max-w-[50%] truncate hover:underline" href={`/documents/view/?id=${job.document_id}&tab=history`}>
        {job.document_name ?? "A deleted document"}
      </Link>
      <State tone={tone}>{words}</State>
      {job.error && (
        <span className="min-w-0 flex-1 truncate text-text-2" title={job.error.detail}>
          {job.error.detail}
        </span>
      )}
    </li>
  );
}
