"use client";

import { Search } from "lucide-react";
import { parseAsInteger, parseAsString, useQueryStates } from "nuqs";
import { useRef } from "react";

import { Button } from "@/components/ui/button";
import { Input } from "@/components/ui/field";
import { formatCount } from "@/lib/format";
import { useListPlace } from "@/state/list-place";
import { useShortcuts } from "@/state/shortcuts";
import { useLastPage } from "@/state/use-last-page";
import { useTypedText } from "@/state/use-debounced";

import { BusyLine, EmptyState, ErrorState } from "./feedback";
import { PageHead } from "./page-head";
import { Pager } from "./pager";

/** What a list that is searched by name shows, as its address says. */
export function useNameList(rowsPerPage: number) {
  const [url, setUrl] = useQueryStates({ q: parseAsString.withDefault(""), page: parseAsInteger.withDefault(1) });
  const page = Math.max(1, url.page);
  return {
    search: url.q,
    page,
    skip: (page - 1) * rowsPerPage,
    rowsPerPage,
    find: (q: string) => void setUrl({ q, page: 1 }),
    replacePage: (next: number) => void setUrl({ page: next }, { history: "replace" }),
    turnTo: (next: number) => void setUrl({ page: next }, { history: "push" }),
  };
}

/** A page with a list that is searched by name: head, filter, rows or why there are none, and the way to the other rows. */
export function NameList({
  title,
  called,
  list,
  answer: { data, error, isPlaceholderData, refetch },
  rows,
  create,
  empty,
  banner,
  children,
}: {
  title: string;
  /** "No tag is called": what is said before a name that nothing has. */
  called: string;
  list: ReturnType<typeof useNameList>;
  answer: { data: { total_count: number } | undefined; error: unknown; isPlaceholderData: boolean; refetch: () => unknown };
  /** How many rows the answer has. */
  rows: number;
  create: React.ReactNode;
  /** What is said where there is nothing at all. */
  empty: { title: string; text: string };
  banner?: React.ReactNode;
  /** The table. */
  children: React.ReactNode;
}) {
  const field = useRef<HTMLInputElement>(null);
  const [text, setText] = useTypedText(list.search, list.find);
  useShortcuts([{ keys: "/", label: "Filter by name", group: "List", run: () => field.current?.focus() }]);
  const place = useListPlace({
    name: title,
    view: JSON.stringify([list.search, list.page]),
    isReady: data !== undefined && !isPlaceholderData,
  });
  useLastPage(list.page, isPlaceholderData ? undefined : data?.total_count, list.rowsPerPage, list.replacePage);
  const hasNoRows = data !== undefined && rows === 0 && !isPlaceholderData;
  return (
    <>
      <PageHead title={title} aside={<span className="text-text-3 tabular-nums">{data ? formatCount(data.total_count) : ""}</span>}>
        {create}
      </PageHead>
      <div className="bar" role="search">
        <label className="relative min-w-0 flex-1 md:max-w-[320px]">
          <span className="sr-only">Filter by name</span>
          <Search aria-hidden size={14} className="pointer-events-none absolute top-1/2 left-2.5 -translate-y-1/2 text-text-3" />
          <Input
            ref={field}
            className="pl-8"
            placeholder="Filter by name"
            value={text}
            onChange={(event) => setText(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === "Escape") event.currentTarget.blur();
            }}
          />
        </label>
      </div>
      {banner}
      <BusyLine isBusy={isPlaceholderData} />
      <div {...place.props} className="min-h-0 flex-1 overflow-auto">
        {error && !data ? (
          <ErrorState error={error} retry={() => void refetch()} />
        ) : !hasNoRows ? (
          children
        ) : data.total_count > 0 ? null : list.search ? (
          <Nothing title={`${called} “${list.search}”`} action="Clear the filter" onAction={() => list.find("")} />
        ) : (
          <EmptyState title={empty.title} action={create}>
            {empty.text}
          </EmptyState>
        )}
      </div>
      {data && data.total_count > list.rowsPerPage && rows > 0 && (
        <Pager
          skip={list.skip}
          shown={rows}
          total={data.total_count}
          page={list.page}
          pageCount={Math.ceil(data.total_count / list.rowsPerPage)}
          onPage={list.turnTo}
        />
      )}
    </>
  );
}

function Nothing({ title, action, onAction }: { title: string; action: string; onAction: () => void }) {
  return <EmptyState title={title} action={<Button onClick={onAction}>{action}</Button>} />;
}
