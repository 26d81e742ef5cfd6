"use client";

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { answered, api, idempotencyKey, organizationPath } from "@/api/client";
import type { DocumentDetail } from "@/api/queries";
import { documentKeys } from "@/api/keys";
import { EmptyState, ErrorState, SkeletonBlock, tellFailure } from "@/components/feedback";
import { Pager } from "@/components/pager";
import { ScrollArea } from "@/components/scroll-area";
import { State, type Tone } from "@/components/state";
import { Time } from "@/components/time";
import { Button } from "@/components/ui/button";
import { DataTable } from "@/components/ui/data-table";
import { formatMilliseconds } from "@/lib/format";
import { KIND_WORDS } from "@/lib/job-words";
import { useMay } from "@/state/permissions";

import { documentLogQuery } from "./queries";

const PAGE = 25;
const OUTCOMES: Record<string, { tone: Tone; words: string }> = {
  failed: { tone: "failed", words: "Failed" },
  done: { tone: "ready", words: "Done" },
  retried: { tone: "warning", words: "Failed, retried" },
  dead: { tone: "failed", words: "Failed, not retried" },
  cancelled: { tone: "absent", words: "Cancelled" },
};

/** What was done for the document, and what is still to be done. */
export function HistoryTab({ document }: { document: DocumentDetail }) {
  const [page, setPage] = useState(1);
  const { data, error, refetch } = useQuery(documentLogQuery(document.document_id, (page - 1) * PAGE, PAGE));
  const client = useQueryClient();
  const mayReplay = useMay("replay_job");
  const replay = async (jobId: string) => {
    try {
      await answered(
        api.POST("/v0/orgs/{organization_id}/jobs/{job_id}/replay", {
          params: { path: { ...organizationPath(), job_id: jobId } },
          headers: idempotencyKey(),
        }),
      );
      await client.invalidateQueries({ queryKey: documentKeys.all });
    } catch (failure) {
      tellFailure("The job could not be retried", failure);
    }
  };
  if (error) return <ErrorState error={error} retry={() => void refetch()} />;
  if (!data) return <SkeletonBlock lines={6} />;
  return (
    <>
      <ScrollArea label="History" className="p-4">
        {data.jobs.length > 0 && (
          <section className="mb-6">
            <h2 className="mb-2 text-lg font-semibold">Pending</h2>
            <ul>
              {data.jobs.map((job) => (
                <li key={job.job_id} className="flex flex-wrap items-center gap-x-4 gap-y-1 border-b border-line py-2">
                  <span className="min-w-[140px] font-medium">{KIND_WORDS[job.kind]}</span>
                  <State tone={job.state === "dead" ? "failed" : job.state === "running" ? "working" : "queued"}>
                    {job.state === "dead" ? "Failed" : job.state === "running" ? "Running" : "Waiting"}, attempt {job.attempt} of{" "}
                    {job.max_attempts}
                  </State>
                  <span className="min-w-0 flex-1 break-words text-text-2">{job.error?.detail}</span>
                  {job.state === "dead" && mayReplay && (
                    <Button size="small" onClick={() => void replay(job.job_id)}>
                      Try again
                    </Button>
                  )}
                </li>
              ))}
            </ul>
          </section>
        )}
        <h2 className="mb-2 text-lg font-semibold">Within the last 30 days</h2>
        {data.attempts.length === 0 ? (
          <EmptyState title="No history yet" />
        ) : (
          <DataTable
            caption=""
            isCards
            head={
              <>
                <th data-column="name" className="lg:w-[200px]">
                  Job
                </th>
                <th className="w-[36%] lg:w-[180px]">Result</th>
                <th className="number w-[80px] @max-[900px]:hidden">Attempt</th>
                <th className="number w-[90px] @max-[900px]:hidden">Took</th>
                <th className="w-[110px]">When</th>
                <th className="max-lg:hidden">Why it failed</th>
              </>
            }
          >
            {data.attempts.map((attempt) => {
              const outcome = OUTCOMES[attempt.outcome] ?? { tone: "queued" as const, words: attempt.outcome };
              return (
                <tr key={`${attempt.job_id}-${attempt.started_at}`}>
                  <td>{KIND_WORDS[attempt.kind]}</td>
                  <td>
                    <State tone={outcome.tone} {...(attempt.error && { title: attempt.error.detail })}>
                      {outcome.words}
                    </State>
                  </td>
                  <td className="number @max-[900px]:hidden">{attempt.attempt}</td>
                  <td className="number @max-[900px]:hidden">
                    {formatMilliseconds(Date.parse(attempt.ended_at) - Date.parse(attempt.started_at))}
                  </td>
                  <td>
                    <Time at={attempt.ended_at} />
                  </td>
                  <td className="text-text-2 max-lg:hidden" title={attempt.error?.detail}>
                    {attempt.error?.detail}
                  </td>
                </tr>
              );
            })}
          </DataTable>
        )}
      </ScrollArea>
      {data.total_count > PAGE && (
        <Pager
          skip={data.skip}
          shown={data.attempts.length}
          total={data.total_count}
          page={page}
          pageCount={Math.ceil(data.total_count / PAGE)}
          onPage={setPage}
        />
      )}
    </>
  );
}
