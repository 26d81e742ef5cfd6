"use client";

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Upload } from "lucide-react";
import { useRouter } from "next/navigation";
import { useCallback, useEffect, useRef, useState } from "react";

import { type Document, type DocumentDetail, tagIndexQuery } from "@/api/queries";
import { documentKeys } from "@/api/keys";
import { BusyLine, EmptyState, ErrorState } from "@/components/feedback";
import { PageHead } from "@/components/page-head";
import { Pager } from "@/components/pager";
import { Button } from "@/components/ui/button";
import { formatCount } from "@/lib/format";
import { useFirstSteps } from "@/state/first-steps";
import { useHeldRows } from "@/state/use-held-rows";
import { useListPlace } from "@/state/list-place";
import { usePermissions } from "@/state/permissions";
import { useShortcuts } from "@/state/shortcuts";
import { chooseFiles, onTaken } from "@/state/uploads";
import { lastPage, useLastPage } from "@/state/use-last-page";

import { BulkBar } from "./bulk-bar";
import { DocumentTable } from "./document-table";
import { FilterBar } from "./filter-bar";
import { FirstSteps, RemainingSteps } from "./first-steps";
import { type DocumentFilter, documentCountQuery, documentPageQuery, extractionProgressQuery, isExtracting } from "./queries";
import { useDeletedRows } from "./use-deleted-rows";
import { useSelection } from "./use-selection";
import { useDocumentsUrl } from "./use-documents-url";

const NO_IDS: readonly string[] = [];
const idOf = (document: DocumentDetail) => document.document_id;

export function Documents() {
  const router = useRouter();
  const client = useQueryClient();
  const permissions = usePermissions();
  const mayUpload = permissions.may("upload_documents");
  const { url, setUrl } = useDocumentsUrl();
  const filter: DocumentFilter = {
    nameSearch: url.q,
    states: url.state,
    fileTypes: url.type,
    tagIds: url.tags,
    tagOperator: url.tagop,
    kbId: url.kb,
    errorCode: url.error,
    from: url.from,
    to: url.to,
  };
  const skip = (url.page - 1) * url.size;
  const { data, error, isFetching, isPlaceholderData, refetch } = useQuery(
    documentPageQuery({ ...filter, sort: url.sort, skip, limit: url.size }),
  );
  const count = useQuery({ ...documentCountQuery(), enabled: data !== undefined });
  const { data: tagIndex } = useQuery(tagIndexQuery());
  const { data: progress } = useQuery({
    ...extractionProgressQuery(),
    enabled: data?.documents.some(isExtracting) ?? false,
  });
  const filterKey = JSON.stringify(filter);
  const view = JSON.stringify([filterKey, url.sort, skip, url.size]);
  const { held, release, settle } = useHeldRows(view, isPlaceholderData ? undefined : data?.documents, idOf);
  const rows = held?.rows ?? data?.documents;
  const selection = useSelection(filterKey, data?.total_count ?? 0);
  const [cursor, setCursor] = useState(-1);
  const place = useListPlace({
    name: "documents",
    view,
    isReady: data !== undefined && !isPlaceholderData,
    onBack: (item) => setCursor(rows?.findIndex((row) => idOf(row) === item) ?? -1),
  });
  const firstSteps = useFirstSteps();
  const filterField = useRef<HTMLInputElement>(null);
  const pageCount = data ? lastPage(data.total_count, url.size) : 1;
  useLastPage(url.page, isPlaceholderData ? undefined : data?.total_count, url.size, (page) => setUrl({ page }, { history: "replace" }));
  const deletedIds = useDeletedRows(held?.missingIds ?? NO_IDS, selection);

  const showLatest = useCallback(async () => {
    const queryKey = documentKeys.lists;
    release();
    await client.invalidateQueries({ queryKey });
    // An event may have begun another request in the place of this one.
    if (client.isFetching({ queryKey }) > 0) await client.refetchQueries({ queryKey, type: "active" }, { cancelRefetch: false });
    settle();
  }, [client, release, settle]);
  useEffect(() => onTaken(() => void showLatest()), [showLatest]);

  const goToPage = (page: number) => {
    if (page < 1 || page > pageCount) return;
    setCursor(-1);
    void setUrl({ page }, { history: "push" });
  };
  const underCursor = rows?.[cursor];
  const at = underCursor && !deletedIds.has(idOf(underCursor)) ? underCursor : undefined;
  const open = (document: Document) => {
    place.note(document.document_id);
    router.push(`/documents/view/?id=${document.document_id}`);
  };
  useShortcuts([
    { keys: "/", label: "Filter by name", group: "List", run: () => filterField.current?.focus() },
    ...(mayUpload ? [{ keys: "u", label: "Upload files", group: "List" as const, run: chooseFiles }] : []),
    { keys: "j", label: "Next row", group: "List", run: () => setCursor((now) => Math.min(now + 1, (rows?.length ?? 0) - 1)) },
    { keys: "k", label: "Previous row", group: "List", run: () => setCursor((now) => Math.max(now - 1, 0)) },
    { keys: "Enter", label: "Open", group: "List", run: () => at && open(at) },
    { keys: "x", label: "Select", group: "List", run: () => at && selection.toggle(at) },
    { keys: "]", label: "Next page", group: "List", run: () => goToPage(url.page + 1) },
    { keys: "[", label: "Previous page", group: "List", run: () => goToPage(url.page - 1) },
    { keys: "Escape", label: "Clear the selection", group: "List", run: selection.clear },
  ]);

  const filterCount =
    (url.q ? 1 : 0) +
    url.state.length +
    url.type.length +
    url.tags.length +
    (url.from || url.to ? 1 : 0) +
    (url.kb ? 1 : 0) +
    (url.error ? 1 : 0);
  const clearFilters = () =>
    void setUrl({ q: "", state: [], type: [], tags: [], tagop: "all", kb: null, error: null, from: "", to: "", page: 1 });
  const isEmpty = data?.total_count === 0 && !isPlaceholderData;
  return (
    <>
      <PageHead
        title="Documents"
        aside={<span className="min-w-12 text-text-3 tabular-nums">{count.data === undefined ? "" : formatCount(count.data)}</span>}
      >
        {mayUpload && (
          <Button variant="primary" onClick={chooseFiles}>
            <Upload aria-hidden size={14} /> Upload
          </Button>
        )}
      </PageHead>
      {mayUpload && firstSteps.stage === "begun" && data?.total_count !== 0 && <RemainingSteps />}
      {selection.count > 0 ? (
        <BulkBar selection={selection} filter={filter} matching={data?.total_count ?? 0} onChanged={() => void showLatest()} />
      ) : (
        <FilterBar
          fieldRef={filterField}
          url={url}
          setUrl={(change) => void setUrl({ ...change, page: 1 })}
          filterCount={filterCount}
          tagIndex={tagIndex}
          onClear={clearFilters}
        />
      )}
      <BusyLine isBusy={isFetching && isPlaceholderData} />
      <div {...place.props} className="min-h-0 flex-1 overflow-auto" aria-busy={isPlaceholderData}>
        {held !== null && held.newCount > 0 && (
          <div className="flex justify-center border-b border-line bg-working-bg">
            <Button variant="quiet" className="text-working" onClick={() => void showLatest()}>
              {formatCount(held.newCount)} new
            </Button>
          </div>
        )}
        {error && !data ? (
          <ErrorState error={error} retry={() => void refetch()} />
        ) : isEmpty && filterCount > 0 ? (
          <EmptyState
            title={filterCount === 1 ? "Nothing matches the filter" : `Nothing matches ${filterCount} filters`}
            action={<Button onClick={clearFilters}>Clear filters</Button>}
          />
        ) : isEmpty ? (
          permissions.isKnown &&
          (mayUpload ? (
            <FirstSteps />
          ) : (
            <EmptyState title="No documents yet">{permissions.whoMay("upload_documents")} can upload some.</EmptyState>
          ))
        ) : (
          <DocumentTable
            rows={rows}
            skeletonRows={Math.min(url.size, 15)}
            tagIndex={tagIndex}
            progress={progress}
            selection={selection}
            sort={url.sort}
            onSort={(sort) => void setUrl({ sort, page: 1 })}
            cursor={cursor}
            deletedIds={deletedIds}
            onOpen={open}
            onChanged={() => void showLatest()}
          />
        )}
      </div>
      {data && data.total_count > 0 && (
        <Pager
          skip={skip}
          shown={(rows?.length ?? 0) - deletedIds.size}
          total={data.total_count}
          page={url.page}
          pageCount={pageCount}
          onPage={goToPage}
          size={url.size}
          onSize={(size) => void setUrl({ size, page: 1 }, { history: "push" })}
          note={filterCount > 0 && count.data !== undefined ? `filtered from ${formatCount(count.data)}` : null}
        />
      )}
    </>
  );
}
