"use client";

import { useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { parseAsStringLiteral, useQueryStates } from "nuqs";

import { quotaQuery } from "@/api/queries";
import { EmptyState, ErrorState, SkeletonBlock } from "@/components/feedback";
import { PageHead } from "@/components/page-head";
import { ScrollArea } from "@/components/scroll-area";
import { Banner } from "@/components/state";
import { Button } from "@/components/ui/button";
import { DataTable } from "@/components/ui/data-table";
import { Select } from "@/components/ui/select";
import { formatCount, formatDay } from "@/lib/format";

import { BarChart } from "./bar-chart";
import { CostTable } from "./cost-table";
import { costs, formatDollars } from "./costs";
import { type Daily, daily, type GroupBy, OTHER, toCsv } from "./daily";
import { DayTable } from "./day-table";
import { quotaEnd } from "./quota-forecast";
import { usageQuery } from "./queries";

const RANGES = ["7d", "30d", "90d"] as const;
const DAYS: Record<(typeof RANGES)[number], number> = { "7d": 7, "30d": 30, "90d": 90 };
const GROUPS = ["kb", "model", "operation"] as const satisfies readonly GroupBy[];
const GROUP_WORDS: Record<GroupBy, string> = { kb: "Knowledge base", model: "Model", operation: "Operation" };
const OPERATION_WORDS: Record<string, string> = {
  index: "Indexing",
  search: "Searching",
  chat: "Chat",
  rerank: "Reranking",
  prompt: "Prompts",
  vision: "Figures and pages",
};

export function Usage() {
  const [url, setUrl] = useQueryStates(
    { range: parseAsStringLiteral(RANGES).withDefault("30d"), by: parseAsStringLiteral(GROUPS).withDefault("kb") },
    { history: "push" },
  );
  const count = DAYS[url.range];
  const { data, error, refetch } = useQuery(usageQuery(count, url.by));
  const quota = useQuery(quotaQuery());
  const by = data?.by ?? url.by;
  const chart = data && daily(data.usage, data.days);
  const paid = costs(data?.calls.items ?? [], by);
  const nameOf = (id: string): string => {
    if (id === OTHER) return "Other";
    if (by === "operation") return OPERATION_WORDS[id] ?? id;
    if (by === "model") return id;
    if (id === "") return "No knowledge base";
    const group = data?.usage.groups.find((item) => item.id === id);
    return group?.name ?? data?.calls.kb_names[id] ?? "A deleted knowledge base";
  };
  const download = () => {
    if (!chart) return;
    const rows = [["day", ...chart.series.map(({ id }) => nameOf(id))], ...chart.days.map((day, at) => [day, ...(chart.spus[at] ?? [])])];
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([toCsv(rows)], { type: "text/csv" }));
    link.download = `usage-${chart.days.at(-1) ?? ""}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  };
  return (
    <>
      <PageHead title="Usage">
        <label>
          <span className="sr-only">Period</span>
          <Select
            value={url.range}
            onChange={(event) => void setUrl({ range: RANGES.find((range) => range === event.target.value) ?? "30d" })}
          >
            <option value="7d">Last 7 days</option>
            <option value="30d">Last 30 days</option>
            <option value="90d">Last 90 days</option>
          </Select>
        </label>
        <label>
          <span className="sr-only">By</span>
          <Select value={url.by} onChange={(event) => void setUrl({ by: GROUPS.find((group) => group === event.target.value) ?? "kb" })}>
            {GROUPS.map((group) => (
              <option key={group} value={group}>
                By {GROUP_WORDS[group].toLowerCase()}
              </option>
            ))}
          </Select>
        </label>
        <Button onClick={download} disabled={!chart || chart.series.length === 0}>
          <Download aria-hidden size={14} /> CSV
        </Button>
      </PageHead>
      <ScrollArea label="Usage" className="p-4">
        {error ? (
          <ErrorState error={error} retry={() => void refetch()} />
        ) : !data || !chart ? (
          <SkeletonBlock lines={8} />
        ) : (
          <div className="flex max-w-[1100px] flex-col gap-6">
            {quota.data && quota.data.quota !== null && (quota.data.left_spus ?? 0) <= 0 && (
              <Banner tone="failed">
                Quota used: {formatCount(quota.data.used_spus)} of {formatCount(quota.data.quota)} SPUs. Indexing waits until the quota is
                raised.
              </Banner>
            )}
            <div className="grid grid-cols-2 gap-x-6 gap-y-4 md:grid-cols-3 lg:grid-cols-5">
              <Figure name="SPUs charged" value={formatCount(data.usage.total_spus)}>
                {formatCount(data.previous.total_spus)} in the {data.days.length} days before
              </Figure>
              <Figure name="Paid for model calls" value={formatDollars(data.calls.total_cost_usd)}>
                {formatDollars(data.previousCalls.total_cost_usd)} in the {data.days.length} days before
              </Figure>
              <Figure name="Saved by the cache" value={formatCount(data.usage.total_saved_spus)}>
                {savedShare(data.usage.total_spus, data.usage.total_saved_spus)}
              </Figure>
              <Figure name="Quota" value={quota.data ? (quota.data.quota === null ? "None" : formatCount(quota.data.quota)) : ""}>
                {quota.data &&
                  (quota.data.quota === null
                    ? `${formatCount(quota.data.used_spus)} used in total`
                    : `${formatCount(quota.data.used_spus)} used, ${formatCount(quota.data.left_spus)} left${endOf(quota.data.left_spus, chart)}`)}
              </Figure>
              <Figure name="Unconfirmed" value={formatCount(data.usage.total_unconfirmed_spus)}>
                Calls interrupted by a crash; not charged
              </Figure>
            </div>
            {chart.series.length === 0 ? (
              <EmptyState title="Nothing was charged in this period">
                An SPU is charged when an embedding is stored for the first time.
              </EmptyState>
            ) : (
              <>
                <BarChart chart={chart} nameOf={nameOf} />
                <DataTable
                  caption={<>SPUs by {GROUP_WORDS[by].toLowerCase()}</>}
                  isCards
                  head={
                    <>
                      <th data-column="name">{GROUP_WORDS[by]}</th>
                      <th className="number w-[120px]">SPUs</th>
                      <th className="number w-[90px]">Share</th>
                    </>
                  }
                >
                  {chart.series.map((series, at) => (
                    <tr key={series.id}>
                      <td>
                        <span className="flex items-center gap-2">
                          <span aria-hidden className="size-2.5 shrink-0 rounded-sm" style={{ background: colourOf(at) }} />
                          <span className="truncate">{nameOf(series.id)}</span>
                        </span>
                      </td>
                      <td className="number" data-label="SPUs">
                        {formatCount(series.total)}
                      </td>
                      <td className="number text-text-2">{Math.round((series.total / Math.max(1, data.usage.total_spus)) * 100)} %</td>
                    </tr>
                  ))}
                </DataTable>
                <DayTable chart={chart} nameOf={nameOf} />
                <p className="text-text-3">Days are in UTC. {formatDay(data.days.at(-1) ?? "")} is not complete yet.</p>
              </>
            )}
            <CostTable costs={paid} groupWord={GROUP_WORDS[by]} nameOf={nameOf} />
          </div>
        )}
      </ScrollArea>
    </>
  );
}

function colourOf(at: number): string {
  return at < 4 ? `var(--series-${at + 1})` : "var(--text3)";
}

function endOf(leftSpus: number | null, chart: Daily): string {
  const perDay = chart.spus.map((day) => day.reduce((sum, spus) => sum + spus, 0));
  const end = leftSpus === null ? null : quotaEnd(leftSpus, perDay, Date.now());
  return end === null ? "" : `; at this rate used up on ${formatDay(end)}`;
}

function savedShare(charged: number, saved: number): string {
  const total = charged + saved;
  return total === 0 ? "Nothing was embedded" : `${Math.round((saved / total) * 100)} % of embeddings were free`;
}

function Figure({ name, value, children }: { name: string; value: string; children: React.ReactNode }) {
  return (
    <div>
      <div className="text-text-2">{name}</div>
      <div className="min-h-9 text-2xl font-semibold tabular-nums">{value}</div>
      <div className="text-xs text-text-3">{children}</div>
    </div>
  );
}
