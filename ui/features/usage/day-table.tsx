"use client";

import { DataTable } from "@/components/ui/data-table";
import { formatCount, formatDay } from "@/lib/format";

import type { Daily } from "./daily";

/** What the bars show, in numbers: days with a charge, the latest first. */
export function DayTable({ chart, nameOf }: { chart: Daily; nameOf: (id: string) => string }) {
  const last = chart.days.length - 1;
  const rows = chart.days
    .map((day, at) => ({ day, at, spus: chart.spus[at] ?? [] }))
    .filter(({ spus }) => spus.some((count) => count > 0))
    .reverse();
  return (
    <details>
      <summary className="cursor-pointer font-medium">SPUs day by day</summary>
      <div className="mt-2 overflow-x-auto" role="region" aria-label="SPUs day by day" tabIndex={0}>
        <DataTable
          caption="SPUs day by day"
          isCards
          head={
            <>
              <th data-column="name" className="w-[160px]">
                Day
              </th>
              {chart.series.map(({ id }) => (
                <th key={id} className="number min-w-[100px]">
                  {nameOf(id)}
                </th>
              ))}
              <th className="number w-[100px]">Total</th>
            </>
          }
        >
          {rows.map(({ day, at, spus }) => (
            <tr key={day}>
              <td>
                {formatDay(day)}
                {at === last && <span className="text-text-3"> so far</span>}
              </td>
              {spus.map((count, column) => (
                <td key={chart.series[column]?.id ?? column} className="number" data-label={nameOf(chart.series[column]?.id ?? "")}>
                  {formatCount(count)}
                </td>
              ))}
              <td className="number font-medium" data-label="Total">
                {formatCount(spus.reduce((sum, count) => sum + count, 0))}
              </td>
            </tr>
          ))}
        </DataTable>
      </div>
    </details>
  );
}
