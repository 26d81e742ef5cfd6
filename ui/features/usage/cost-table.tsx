"use client";

import { DataTable } from "@/components/ui/data-table";
import { formatCount } from "@/lib/format";

import { type Cost, formatDollars } from "./costs";

/** Money paid for calls to chat and reranking models. */
export function CostTable({ costs, groupWord, nameOf }: { costs: readonly Cost[]; groupWord: string; nameOf: (id: string) => string }) {
  const unpriced = costs.reduce((sum, { unpricedCalls }) => sum + unpricedCalls, 0);
  return (
    <section className="flex flex-col gap-2" aria-labelledby="model-calls">
      <h2 id="model-calls" className="text-base font-semibold">
        Calls to chat and reranking models
      </h2>
      {costs.length === 0 ? (
        <p className="text-text-2">None in this period.</p>
      ) : (
        <DataTable
          caption={<>Cost of model calls by {groupWord.toLowerCase()}</>}
          isCards
          head={
            <>
              <th data-column="name">{groupWord}</th>
              <th className="number w-[80px]">Calls</th>
              <th className="number w-[120px] max-md:hidden">Input tokens</th>
              <th className="number w-[140px] max-md:hidden">Output tokens</th>
              <th className="number w-[130px]">Cost</th>
            </>
          }
        >
          {costs.map((cost) => (
            <tr key={cost.id}>
              <td>
                <span className="truncate" title={nameOf(cost.id)}>
                  {nameOf(cost.id)}
                </span>
              </td>
              <td className="number" data-label="Calls">
                {formatCount(cost.calls)}
              </td>
              <td className="number max-md:hidden">{formatCount(cost.promptTokens)}</td>
              <td className="number max-md:hidden">{formatCount(cost.completionTokens)}</td>
              <td className="number">{cost.unpricedCalls === cost.calls ? "Price unknown" : formatDollars(cost.dollars)}</td>
            </tr>
          ))}
        </DataTable>
      )}
      {unpriced > 0 && (
        <p className="text-text-3">
          The price of {formatCount(unpriced)} {unpriced === 1 ? "call is" : "calls are"} unknown and not included in the totals.
        </p>
      )}
    </section>
  );
}
