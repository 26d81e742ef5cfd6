"use client";

import { useQuery } from "@tanstack/react-query";

import { isNotFound } from "@/api/errors";
import { Dialog } from "@/components/ui/dialog";
import { EmptyState, ErrorState, SkeletonBlock } from "@/components/feedback";
import { May } from "@/components/may";
import { Banner, State } from "@/components/state";
import { Time } from "@/components/time";
import { Button, ButtonLink } from "@/components/ui/button";
import { formatMilliseconds } from "@/lib/format";
import { KIND_WORDS } from "@/lib/job-words";

import { AskedSubject, jobTone } from "./job-table";
import { type Job, jobQuery } from "./queries";

/** One job with its attempts, and where the last one failed. */
export function JobDialog({
  jobId,
  onClose,
  onReplay,
  onCancel,
}: {
  jobId: string;
  onClose: () => void;
  onReplay: (job: Job) => Promise<void>;
  onCancel: (job: Job) => Promise<void>;
}) {
  const { data: job, error, refetch } = useQuery(jobQuery(jobId));
  const footer = job && (
    <>
      {job.document_id && <ButtonLink href={`/documents/view/?id=${job.document_id}&tab=history`}>History of the document</ButtonLink>}
      {job.state === "dead" ? (
        <May to="replay_job">
          <Button variant="primary" onClick={() => void onReplay(job).then(onClose)}>
            Replay
          </Button>
        </May>
      ) : (
        <May to="cancel_job">
          <Button onClick={() => void onCancel(job)}>Cancel the job</Button>
        </May>
      )}
    </>
  );
  return (
    <Dialog open onOpenChange={(isOpen) => !isOpen && onClose()} title={job ? KIND_WORDS[job.kind] : "Job"} wide footer={footer}>
      {isNotFound(error) ? (
        <EmptyState title="Job finished">Finished jobs are listed in the history of their document.</EmptyState>
      ) : error ? (
        <ErrorState error={error} retry={() => void refetch()} />
      ) : !job ? (
        <SkeletonBlock lines={5} />
      ) : (
        <div className="flex flex-col gap-3">
          <div className="flex flex-wrap items-center gap-x-4">
            <State tone={jobTone(job).tone}>{jobTone(job).words}</State>
            <span className="min-w-0 break-words text-text-2">
              <AskedSubject job={job} />
            </span>
          </div>
          {job.error && <Banner tone={job.state === "dead" ? "failed" : "warning"}>{job.error.detail}</Banner>}
          <dl className="grid grid-cols-[110px_minmax(0,1fr)] gap-x-4 gap-y-1">
            <dt className="text-text-2">Attempt</dt>
            <dd>
              {job.attempt} of {job.max_attempts}
            </dd>
            <dt className="text-text-2">Requested</dt>
            <dd>
              <Time at={job.created_at} />
            </dd>
            <dt className="text-text-2">{job.state === "available" ? "Next try" : "Was due"}</dt>
            <dd>
              <Time at={job.run_at} isPlanned />
            </dd>
            {job.error && (
              <>
                <dt className="text-text-2">Error</dt>
                <dd className="font-mono text-xs leading-5">{job.error.code}</dd>
              </>
            )}
            {job.worker && (
              <>
                <dt className="text-text-2">Worker</dt>
                <dd className="font-mono text-xs leading-5">{job.worker}</dd>
              </>
            )}
            {job.request_id && (
              <>
                <dt className="text-text-2">Request</dt>
                <dd className="font-mono text-xs leading-5 break-all">{job.request_id}</dd>
              </>
            )}
          </dl>
          {job.stack && (
            <details>
              <summary className="font-medium">Where it failed</summary>
              <pre className="mt-1 max-h-[240px] overflow-auto rounded-md bg-sunken p-2 font-mono text-xs" tabIndex={0}>
                {job.stack}
              </pre>
            </details>
          )}
          {job.attempts.length > 0 && (
            <section>
              <h3 className="mb-1 font-semibold">Attempts</h3>
              <ol>
                {job.attempts.map((attempt) => (
                  <li key={attempt.started_at} className="flex flex-wrap gap-x-4 border-b border-line py-1">
                    <span className="tabular-nums">{attempt.attempt}</span>
                    <span className="text-text-2">
                      <Time at={attempt.ended_at} />, {formatMilliseconds(Date.parse(attempt.ended_at) - Date.parse(attempt.started_at))}
                    </span>
                    <span className="min-w-0 flex-1 break-words">{attempt.error?.detail ?? attempt.outcome}</span>
                  </li>
                ))}
              </ol>
            </section>
          )}
        </div>
      )}
    </Dialog>
  );
}
