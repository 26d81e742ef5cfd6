"use client";

import { useMutation, useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { parseAsInteger, parseAsString, parseAsStringLiteral, useQueryStates } from "nuqs";

import { answered, api, organizationPath } from "@/api/client";
import { documentQuery } from "@/api/queries";
import { BusyLine, EmptyState, ErrorState, SkeletonBlock, SkeletonRows, tellFailure } from "@/components/feedback";
import { Pager } from "@/components/pager";
import { Time } from "@/components/time";
import { Button } from "@/components/ui/button";
import { DataTable } from "@/components/ui/data-table";
import { Select } from "@/components/ui/select";
import { formatCount, plural } from "@/lib/format";
import { saveFile } from "@/lib/save-file";
import { useLastPage } from "@/state/use-last-page";

import type { JsonObject } from "./answer-schema";
import { type Column, columnsOf, shortly, valueAt } from "./answer-values";
import { earlierResultsQuery, type Prompt, type PromptVersion, type Result, resultsQuery, versionsQuery } from "./queries";
import { ResultDialog } from "./result-dialog";
import { ResultMark } from "./result-mark";

const PAGE = 50;
const STATES = ["all", "verified", "open"] as const;

/** The answers that count, a row a document and a column a field. */
export function ResultsTab({ prompt }: { prompt: Prompt }) {
  const [url, setUrl] = useQueryStates({
    v: parseAsInteger,
    check: parseAsStringLiteral(STATES).withDefault("all"),
    page: parseAsInteger.withDefault(1),
    document: parseAsString,
  });
  const versions = useQuery(versionsQuery(prompt.prompt_id));
  const number = url.v ?? prompt.version;
  const version = versions.data?.find((item) => item.version === number);
  const page = Math.max(1, url.page);
  const isVerified = url.check === "all" ? null : url.check === "verified";
  const filter = { promptId: prompt.prompt_id, version: number, isVerified };
  const { data, error, isPlaceholderData, refetch } = useQuery(resultsQuery(filter, (page - 1) * PAGE, PAGE));
  useLastPage(page, isPlaceholderData ? undefined : data?.total_count, PAGE, (last) => setUrl({ page: last }, { history: "replace" }));
  if (error && !data) return <ErrorState error={error} retry={() => void refetch()} />;
  if (versions.error && !versions.data) return <ErrorState error={versions.error} retry={() => void versions.refetch()} />;
  if (!versions.data) return <SkeletonBlock lines={8} />;
  const isEmpty = data?.total_count === 0 && !isPlaceholderData;
  return (
    <>
      <div className="bar">
        <label className="flex items-center gap-2">
          <span className="text-text-2">Version</span>
          <Select className="w-[84px]" value={number} onChange={(event) => void setUrl({ v: Number(event.target.value), page: 1 })}>
            {versions.data.map((item) => (
              <option key={item.version}>{item.version}</option>
            ))}
          </Select>
        </label>
        <label className="flex items-center gap-2">
          <span className="text-text-2">State</span>
          <Select
            className="w-[140px]"
            value={url.check}
            onChange={(event) => void setUrl({ check: event.target.value as (typeof STATES)[number], page: 1 })}
          >
            <option value="all">All</option>
            <option value="verified">Verified</option>
            <option value="open">Not verified</option>
          </Select>
        </label>
        <span className="text-text-3" role="status">
          {data ? `${formatCount(data.total_count)} ${data.total_count === 1 ? "result" : "results"}` : ""}
        </span>
        <span className="flex-1" />
        <Export filter={filter} isEmpty={data === undefined || data.total_count === 0} />
      </div>
      <BusyLine isBusy={isPlaceholderData} />
      <div role="region" aria-label="Results" tabIndex={0} className="min-h-0 flex-1 overflow-auto">
        {isEmpty ? (
          <Nothing isFiltered={url.check !== "all"} version={number} clear={() => void setUrl({ check: null })}>
            <EarlierResults promptId={prompt.prompt_id} before={number} onShow={(v) => void setUrl({ v, page: 1 }, { history: "push" })} />
          </Nothing>
        ) : (
          <ResultTable version={version} results={data?.results} onOpen={(document) => void setUrl({ document }, { history: "push" })} />
        )}
      </div>
      {data && data.total_count > PAGE && (
        <Pager
          skip={data.skip}
          shown={data.results.length}
          total={data.total_count}
          page={page}
          pageCount={Math.ceil(data.total_count / PAGE)}
          onPage={(next) => void setUrl({ page: next }, { history: "push" })}
        />
      )}
      {url.document !== null && version && (
        <ResultDialog
          key={url.document}
          prompt={prompt}
          version={version}
          documentId={url.document}
          onClose={() => void setUrl({ document: null })}
        />
      )}
    </>
  );
}

/** The latest earlier version that has results: a new version begins without any, and theirs stay. */
function EarlierResults({ promptId, before, onShow }: { promptId: string; before: number; onShow: (version: number) => void }) {
  const { data: earlier } = useQuery(earlierResultsQuery(promptId, before));
  if (!earlier) return null;
  return (
    <>
      <p>
        Version {earlier.version} has {plural(earlier.total, "result")}
        {earlier.verified > 0 && `, ${formatCount(earlier.verified)} of them verified`}. They are kept with their version.
      </p>
      <Button variant="primary" className="mt-3" onClick={() => onShow(earlier.version)}>
        Show results of version {earlier.version}
      </Button>
    </>
  );
}

function Nothing({
  isFiltered,
  version,
  clear,
  children,
}: {
  isFiltered: boolean;
  version: number;
  clear: () => void;
  children: React.ReactNode;
}) {
  return isFiltered ? (
    <EmptyState title="No results in this state" action={<Button onClick={clear}>Show all</Button>} />
  ) : (
    <EmptyState title={`Version ${version} has no results yet`}>
      <p>Run this version on documents. Each run that succeeds adds a row here.</p>
      {children}
    </EmptyState>
  );
}

function ResultTable({
  version,
  results,
  onOpen,
}: {
  version: PromptVersion | undefined;
  results: readonly Result[] | undefined;
  onOpen: (documentId: string) => void;
}) {
  const columns = columnsOf((version?.answer_schema ?? null) as JsonObject | null);
  return (
    <DataTable
      caption="Results"
      isCards
      style={{ minWidth: 340 + 130 * columns.length }}
      head={
        <>
          <th data-column="name" className="w-[220px] pl-4!">
            Document
          </th>
          <th className="w-[120px] max-md:hidden">State</th>
          {columns.map((column) => (
            <th key={column.label} className="font-mono" title={column.label}>
              {column.label}
            </th>
          ))}
          <th className="w-[110px] @max-[900px]:hidden">Changed</th>
        </>
      }
    >
      {results === undefined ? (
        <SkeletonRows rows={8} columns={["60%", "60%", ...columns.map(() => "60%"), "60%"]} />
      ) : (
        results.map((result) => (
          <ResultRow key={result.document_id} result={result} columns={columns} onOpen={() => onOpen(result.document_id)} />
        ))
      )}
    </DataTable>
  );
}

function ResultRow({ result, columns, onOpen }: { result: Result; columns: readonly Column[]; onOpen: () => void }) {
  const { data } = useQuery({ ...documentQuery(result.document_id), staleTime: 60_000 });
  return (
    <tr>
      <td className="pl-4!">
        <button
          type="button"
          className="block max-w-full truncate text-left font-medium hover:underline"
          onClick={onOpen}
          title={data?.document_name}
        >
          {data?.document_name ?? "…"}
        </button>
        <span className="md:hidden">
          <ResultMark result={result} />
        </span>
      </td>
      <td className="max-md:hidden">
        <ResultMark result={result} />
      </td>
      {columns.map((column) => {
        const value = valueAt(result.answer, column);
        return (
          <td
            key={column.label}
            data-label={column.label}
            className={typeof value === "number" ? "tabular-nums" : undefined}
            title={shortly(value)}
          >
            {shortly(value)}
          </td>
        );
      })}
      <td className="text-text-2 @max-[900px]:hidden">
        <Time at={result.updated_at} />
      </td>
    </tr>
  );
}

function Export({ filter, isEmpty }: { filter: { promptId: string; version: number; isVerified: boolean | null }; isEmpty: boolean }) {
  const download = useMutation({
    mutationFn: async (format: "csv" | "json") => {
      const blob = (await answered<unknown>(
        api.GET("/v0/orgs/{organization_id}/prompts/{prompt_id}/results/export", {
          params: {
            path: { ...organizationPath(), prompt_id: filter.promptId },
            query: { format, version: filter.version, ...(filter.isVerified !== null && { is_verified: filter.isVerified }) },
          },
          parseAs: "blob",
        }),
      )) as Blob;
      saveFile(blob, `prompt-${filter.promptId}-v${filter.version}.${format}`);
    },
    onError: (failure) => tellFailure("The results were not exported", failure),
  });
  return (
    <div className="flex gap-2">
      {(["csv", "json"] as const).map((format) => (
        <Button key={format} disabled={isEmpty || download.isPending} onClick={() => download.mutate(format)}>
          <Download aria-hidden size={14} /> {format.toUpperCase()}
        </Button>
      ))}
    </div>
  );
}
