"use client";

import { useQuery } from "@tanstack/react-query";

import { Button } from "@/components/ui/button";
import { formatCount } from "@/lib/format";

import { type JobFilter, jobErrorsQuery } from "./queries";

/** The errors of all failed jobs: a repeated error is one line. */
export function ErrorGroups({ filter, onOnly }: { filter: JobFilter; onOnly: (code: string) => void }) {
  const { data } = useQuery(jobErrorsQuery(filter));
  const groups = data?.errors ?? [];
  if (groups.length === 0) return null;
  return (
    <ul aria-label="Errors" className="border-b border-line">
      {groups.map((group) => (
        <li key={group.error_code} className="flex items-center gap-3 px-4 py-1.5">
          <span className="w-14 shrink-0 font-semibold tabular-nums">×{formatCount(group.count)}</span>
          <span className="min-w-0 flex-1 truncate text-failed" title={group.detail}>
            {group.detail}
          </span>
          {filter.errorCode !== group.error_code && (
            <Button size="small" aria-label={`Only jobs with the error ${group.error_code}`} onClick={() => onOnly(group.error_code)}>
              Only these
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}
