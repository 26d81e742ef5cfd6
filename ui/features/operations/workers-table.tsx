"use client";

import { useQuery } from "@tanstack/react-query";
import Link from "next/link";

import { EmptyState, ErrorState, SkeletonBlock } from "@/components/feedback";
import { ScrollArea } from "@/components/scroll-area";
import { Time } from "@/components/time";
import { DataTable } from "@/components/ui/data-table";
import { formatCount } from "@/lib/format";
import { KIND_WORDS } from "@/lib/job-words";

import { workersQuery } from "./queries";

/** The processes that run jobs; what they run for other organizations is not told. */
export function WorkersTable() {
  const { data, error, refetch } = useQuery(workersQuery());
  return (
    <ScrollArea label="Workers">
      {error && !data ? (
        <ErrorState error={error} retry={() => void refetch()} />
      ) : !data ? (
        <SkeletonBlock lines={4} />
      ) : data.workers.length === 0 ? (
        <EmptyState title="No workers running">Jobs wait until the operator of this server starts a worker.</EmptyState>
      ) : (
        <DataTable
          caption="Workers"
          isCards
          head={
            <>
              <th data-column="name" className="pl-4!">
                Worker
              </th>
              <th className="max-md:hidden @max-[860px]:hidden">Host</th>
              <th className="w-[130px] @max-[1000px]:hidden">Since</th>
              <th className="w-[120px] max-md:w-[92px]">Last seen</th>
              <th className="number w-[110px] max-md:hidden">Jobs at once</th>
              <th className="w-[30%]">Your jobs</th>
            </>
          }
        >
          {data.workers.map((worker) => (
            <tr key={worker.name}>
              <td className="pl-4!">
                <span className="block truncate font-medium" title={worker.name}>
                  {worker.name}
                </span>
                {worker.problems.map((problem) => (
                  <span key={problem} className="block text-text-2">
                    {problem}
                  </span>
                ))}
              </td>
              <td className="text-text-2 max-md:hidden @max-[860px]:hidden">{worker.host}</td>
              <td className="text-text-2 @max-[1000px]:hidden">
                <Time at={worker.started_at} />
              </td>
              <td className="text-text-2" data-label="Last seen">
                <Time at={worker.seen_at} />
              </td>
              <td className="number max-md:hidden">{formatCount(worker.slots)}</td>
              <td>
                {worker.jobs.length === 0 ? (
                  <span className="text-text-3">Idle</span>
                ) : (
                  <>
                    {worker.jobs.map((job) => (
                      <Link
                        key={job.job_id}
                        className="block truncate text-link hover:underline"
                        href={`/operations/?peek=${encodeURIComponent(job.job_id)}`}
                      >
                        {KIND_WORDS[job.kind]}
                      </Link>
                    ))}
                    {worker.job_count > worker.jobs.length && (
                      <span className="text-text-3">{formatCount(worker.job_count - worker.jobs.length)} more</span>
                    )}
                  </>
                )}
              </td>
            </tr>
          ))}
        </DataTable>
      )}
    </ScrollArea>
  );
}
