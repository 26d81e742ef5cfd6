"use client";

import { useQuery } from "@tanstack/react-query";
import { Search } from "lucide-react";
import Link from "next/link";
import { parseAsBoolean, parseAsString, useQueryStates } from "nuqs";

import { BusyLine, EmptyState, ErrorState, SkeletonRows } from "@/components/feedback";
import { Pager } from "@/components/pager";
import { State } from "@/components/state";
import { Time } from "@/components/time";
import { Button } from "@/components/ui/button";
import { DataTable } from "@/components/ui/data-table";
import { Input } from "@/components/ui/field";
import { useLastPage } from "@/state/use-last-page";
import { useTypedText } from "@/state/use-debounced";

import { FetchAgain } from "./fetch-again";
import { ItemAccess } from "./item-access";
import { isLive, type Item, itemsQuery, ROWS, type Source } from "./queries";
import type { ListPlace } from "./runs-tab";

/** The items of a source as its last runs found them, with their documents. */
export function ItemsTab({ source, place }: { source: Source; place: ListPlace }) {
  const [url, setUrl] = useQueryStates({ q: parseAsString.withDefault(""), problems: parseAsBoolean.withDefault(false) });
  const [text, setText] = useTypedText(url.q, (q) => {
    void setUrl({ q });
    place.onLastPage(1);
  });
  const skip = (place.page - 1) * ROWS;
  const { data, error, isPlaceholderData, refetch } = useQuery(
    itemsQuery(source.source_id, { search: url.q, hasProblem: url.problems }, skip),
  );
  useLastPage(place.page, isPlaceholderData ? undefined : data?.total_count, ROWS, place.onLastPage);
  const isFiltered = url.q !== "" || url.problems;
  return (
    <>
      <div className="bar" role="search" aria-label="Filter items">
        <label className="relative min-w-0 flex-1 md:max-w-[320px]">
          <span className="sr-only">Filter by name</span>
          <Search aria-hidden size={14} className="pointer-events-none absolute top-1/2 left-2.5 -translate-y-1/2 text-text-3" />
          <Input className="pl-8" placeholder="Filter by name" value={text} onChange={(event) => setText(event.target.value)} />
        </label>
        <Button
          className={url.problems ? "bg-selected" : ""}
          aria-pressed={url.problems}
          onClick={() => {
            void setUrl({ problems: url.problems ? null : true });
            place.onLastPage(1);
          }}
        >
          With a problem
        </Button>
      </div>
      <BusyLine isBusy={isPlaceholderData} />
      <div className="min-h-0 flex-1 overflow-auto">
        {error && !data ? (
          <ErrorState error={error} retry={() => void refetch()} />
        ) : data?.total_count !== 0 ? (
          <ItemTable items={data?.items} sourceId={source.source_id} isBusy={isLive(source.last_run)} />
        ) : isFiltered ? (
          <EmptyState
            title="No item matches"
            action={<Button onClick={() => void setUrl({ q: null, problems: null })}>Clear the filter</Button>}
          />
        ) : (
          <EmptyState title="No items yet">The first run lists the items of the source here, with their documents.</EmptyState>
        )}
      </div>
      {data && data.total_count > ROWS && (
        <Pager
          skip={skip}
          shown={data.items.length}
          total={data.total_count}
          page={place.page}
          pageCount={Math.ceil(data.total_count / ROWS)}
          onPage={place.onPage}
        />
      )}
    </>
  );
}

function ItemTable({ items, sourceId, isBusy }: { items: readonly Item[] | undefined; sourceId: string; isBusy: boolean }) {
  return (
    <DataTable
      caption="Items"
      head={
        <>
          <th data-column="name" className="pl-4!">
            Item
          </th>
          <th className="w-[40%] max-md:hidden">State</th>
          <th className="w-[150px] @max-[760px]:hidden">May read it there</th>
          <th className="w-[120px]">
            <span className="sr-only">Actions</span>
          </th>
        </>
      }
    >
      {items === undefined ? (
        <SkeletonRows rows={8} columns={["60%", "60%", "60%", "60%"]} />
      ) : (
        items.map((item) => (
          <tr key={item.external_id}>
            <td className="pl-4!">
              <ItemName name={item.name} documentId={item.document_id} />
              <span className="md:hidden">
                <ItemState item={item} />
              </span>
              {item.access !== null && (
                <span className="hidden @max-[760px]:block">
                  <ItemAccess item={item} />
                </span>
              )}
            </td>
            <td className="max-md:hidden">
              <ItemState item={item} />
            </td>
            <td className="@max-[760px]:hidden">
              <ItemAccess item={item} />
            </td>
            <td className="text-right">
              {item.vanished_at === null && (
                <FetchAgain sourceId={sourceId} externalId={item.external_id} name={item.name} isBusy={isBusy} />
              )}
            </td>
          </tr>
        ))
      )}
    </DataTable>
  );
}

/** The name of an item, as a link to its document if there is one. */
export function ItemName({ name, documentId }: { name: string; documentId: string | null }) {
  if (documentId === null) {
    return (
      <span className="block truncate" title={name}>
        {name}
      </span>
    );
  }
  return (
    <Link href={`/documents/view/?id=${documentId}`} className="block truncate font-medium hover:underline" title={name}>
      {name}
    </Link>
  );
}

function ItemState({ item }: { item: Item }) {
  if (item.problem !== null) {
    return (
      <State tone="warning" title={item.problem}>
        {item.problem}
      </State>
    );
  }
  if (item.vanished_at !== null) {
    return (
      <State tone="absent">
        Vanished <Time at={item.vanished_at} />
      </State>
    );
  }
  return item.document_id === null ? <State tone="absent">Not taken in</State> : <State tone="ready">Taken in</State>;
}
