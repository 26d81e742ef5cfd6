"use client";

import { useQuery } from "@tanstack/react-query";

import { DataTable } from "@/components/ui/data-table";
import { formatCount } from "@/lib/format";
import { type JobKind, KIND_WORDS } from "@/lib/job-words";

import { jobCountsQuery } from "./queries";

/** The waiting, running and failed jobs of each kind; each number opens its rows. */
export function QueueDepth({ onOpen }: { onOpen: (kind: JobKind, state: "available" | "running" | "dead") => void }) {
  const { data } = useQuery(jobCountsQuery());
  if (!data || data.kinds.length === 0) return null;
  return (
    <details open className="border-b border-line">
      <summary className="px-4 py-1.5 font-semibold">By kind</summary>
      <DataTable
        caption="Jobs by kind"
        isCards
        className="max-w-[640px]"
        head={
          <>
            <th data-column="name" className="pl-4!">
              Kind
            </th>
            <th className="number w-[90px]">Waiting</th>
            <th className="number w-[90px]">Running</th>
            <th className="number w-[90px]">Failed</th>
          </>
        }
      >
        {data.kinds.map(({ kind, waiting, running, dead }) => (
          <tr key={kind}>
            <td className="pl-4!">{KIND_WORDS[kind]}</td>
            <Depth count={waiting} heading="Waiting" label={`${KIND_WORDS[kind]}: waiting`} onOpen={() => onOpen(kind, "available")} />
            <Depth count={running} heading="Running" label={`${KIND_WORDS[kind]}: running`} onOpen={() => onOpen(kind, "running")} />
            <Depth count={dead} heading="Failed" label={`${KIND_WORDS[kind]}: failed`} isBad onOpen={() => onOpen(kind, "dead")} />
          </tr>
        ))}
      </DataTable>
    </details>
  );
}

function Depth({
  count,
  heading,
  label,
  isBad = false,
  onOpen,
}: {
  count: number;
  heading: string;
  label: string;
  isBad?: boolean;
  onOpen: () => void;
}) {
  return (
    <td className="number" data-label={heading}>
      {count === 0 ? (
        <span className="text-text-3">0</span>
      ) : (
        <button
          type="button"
          className={`min-h-6 hover:underline ${isBad ? "text-failed" : "text-link"}`}
          aria-label={`${label}, ${formatCount(count)}`}
          onClick={onOpen}
        >
          {formatCount(count)}
        </button>
      )}
    </td>
  );
}
