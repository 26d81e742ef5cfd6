"use client";

import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";

import { documentQuery, knowledgeBaseQuery } from "@/api/queries";
import { SkeletonRows } from "@/components/feedback";
import { May } from "@/components/may";
import { State, type Tone } from "@/components/state";
import { Time } from "@/components/time";
import { Button } from "@/components/ui/button";
import { DataTable } from "@/components/ui/data-table";
import { formatCount } from "@/lib/format";
import { KIND_WORDS } from "@/lib/job-words";
import { useNow } from "@/state/now";

import type { Job, ListedJob } from "./queries";

export function jobTone(job: Job): { tone: Tone; words: string } {
  if (job.state === "dead") return { tone: "failed", words: "Failed" };
  if (job.is_cancel_wanted) return { tone: "working", words: "Being cancelled" };
  if (job.state === "running") {
    const { progress } = job;
    return {
      tone: "working",
      words: progress ? `${formatCount(progress.done)} of ${formatCount(progress.total)} ${progress.unit}` : "Running",
    };
  }
  if (job.waits_for === "provider") return { tone: "waiting-for-provider", words: "Waiting for the provider" };
  return job.waits_for === "quota" ? { tone: "waiting-for-quota", words: "Waiting for quota" } : { tone: "queued", words: "Waiting" };
}

export function JobTable({
  jobs,
  isGone,
  cursor,
  onPeek,
  onReplay,
  onCancel,
}: {
  jobs: readonly ListedJob[] | undefined;
  /** Whether a row is shown for its place only: the job is done, or not among these any more. */
  isGone: (job: Job) => boolean;
  cursor: number;
  onPeek: (job: Job) => void;
  onReplay: (job: Job) => Promise<void>;
  onCancel: (job: Job) => Promise<void>;
}) {
  const body = useRef<HTMLTableSectionElement>(null);
  useEffect(() => {
    body.current?.children[cursor]?.scrollIntoView({ block: "nearest" });
  }, [cursor]);
  return (
    <DataTable
      caption="Jobs"
      isCards
      bodyRef={body}
      head={
        <>
          <th data-column="name" className="w-[170px] pl-4! max-md:w-[44%]">
            Job
          </th>
          <th data-column="name" className="max-md:hidden">
            About
          </th>
          <th className="w-[140px] max-md:w-auto">State</th>
          <th className="number w-[84px] @max-[1018px]:hidden">Attempt</th>
          <th className="w-[104px] @max-[740px]:hidden">Since</th>
          <th className="w-[96px] @max-[1141px]:hidden">Next try</th>
          <th className="w-[22%] @max-[910px]:hidden">Last error</th>
          <th className="w-[96px]">
            <span className="sr-only">Actions</span>
          </th>
        </>
      }
    >
      {jobs === undefined ? (
        <SkeletonRows rows={10} columns={["60%", "60%", "60%", "30%", "60%", "60%", "70%", "60%"]} />
      ) : (
        jobs.map((job, at) => {
          const isOver = isGone(job);
          const { tone, words } = isOver ? { tone: "ready" as const, words: "Done" } : jobTone(job);
          return (
            <tr key={job.job_id} data-cursor={at === cursor}>
              <td className="pl-4!">
                <button type="button" className="max-w-full truncate text-left font-medium hover:underline" onClick={() => onPeek(job)}>
                  {KIND_WORDS[job.kind]}
                </button>
                <span className="block truncate text-xs text-text-2 md:hidden">
                  <Subject job={job} />
                </span>
              </td>
              <td className="max-md:hidden">
                <Subject job={job} />
              </td>
              <td>
                <State tone={tone} {...(job.error && { title: job.error.detail })}>
                  {words}
                </State>
              </td>
              <td className="number @max-[1018px]:hidden">
                {job.attempt} of {job.max_attempts}
              </td>
              <td className="text-text-2 @max-[740px]:hidden">
                <Time at={job.created_at} />
              </td>
              <td className="text-text-2 @max-[1141px]:hidden">
                {job.state === "available" && !isOver ? <NextTry at={job.run_at} /> : "–"}
              </td>
              <td className="text-text-2 @max-[910px]:hidden" title={job.error?.detail}>
                {job.error?.detail}
              </td>
              <td className="text-right">
                {isOver ? null : job.state === "dead" ? (
                  <May to="replay_job">
                    <Button size="small" onClick={() => void onReplay(job)}>
                      Replay
                    </Button>
                  </May>
                ) : (
                  <May to="cancel_job">
                    <Button variant="quiet" size="small" onClick={() => void onCancel(job)}>
                      Cancel
                    </Button>
                  </May>
                )}
              </td>
            </tr>
          );
        })
      )}
    </DataTable>
  );
}

function NextTry({ at }: { at: string }) {
  const now = useNow();
  return Date.parse(at) <= now ? "now" : <Time at={at} isPlanned />;
}

/** Names, not ids: the document and the knowledge base that a job is about. */
function Subject({ job }: { job: ListedJob }) {
  return (
    <SubjectWords
      document={job.document_id === null ? null : (job.document_name ?? "a deleted document")}
      base={job.kb_id === null ? null : (job.kb_name ?? "a deleted knowledge base")}
    />
  );
}

/** The same of a job that does not tell the names. */
export function AskedSubject({ job }: { job: Pick<Job, "document_id" | "kb_id"> }) {
  const document = useQuery({
    ...documentQuery(job.document_id ?? ""),
    enabled: job.document_id !== null,
    staleTime: 60_000,
    retry: false,
  });
  const base = useQuery({ ...knowledgeBaseQuery(job.kb_id ?? ""), enabled: job.kb_id !== null, staleTime: 60_000, retry: false });
  return (
    <SubjectWords
      document={job.document_id && (document.data?.document_name ?? (document.error ? "a deleted document" : "…"))}
      base={job.kb_id && (base.data?.name ?? (base.error ? "a deleted knowledge base" : "…"))}
    />
  );
}

function SubjectWords({ document, base }: { document: string | null; base: string | null }) {
  const names = [document, base].filter((name): name is string => Boolean(name));
  return <span title={names.join(" in ")}>{names.join(" in ") || "the organization"}</span>;
}
