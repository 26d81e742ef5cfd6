"use client";

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Download, RotateCw, Trash2 } from "lucide-react";
import dynamic from "next/dynamic";
import { useRouter } from "next/navigation";
import { parseAsInteger, parseAsString, parseAsStringLiteral, useQueryStates } from "nuqs";
import { useState } from "react";
import { toast } from "sonner";

import { type DocumentDetail, documentQuery } from "@/api/queries";
import { documentKeys } from "@/api/keys";
import { ConfirmDialog } from "@/components/ui/dialog";
import { EmptyState, ErrorState, SkeletonBlock, tellFailure } from "@/components/feedback";
import { May } from "@/components/may";
import { PageHead } from "@/components/page-head";
import { State } from "@/components/state";
import { Tabs } from "@/components/tabs";
import { Button } from "@/components/ui/button";
import { readPassage } from "@/components/viewer/passage";
import { documentState } from "@/lib/document-state";
import { plural } from "@/lib/format";
import { useWayBack } from "@/state/list-place";
import { pollEvery } from "@/state/live";
import { useShortcuts } from "@/state/shortcuts";

import { deleteDocument, download, extractAgain } from "../actions";
import { extractionProgressQuery, isExtracting, LIVE_MILLISECONDS } from "../queries";
import { ChunksTab } from "./chunks-tab";
import { DetailsTab } from "./details-tab";
import { HistoryTab } from "./history-tab";
import { partsQuery } from "./queries";
import { Reading } from "./reading";
import { mayHaveTables } from "./tables/table-words";

const TablesTab = dynamic(() => import("./tables/tables-tab").then((module) => module.TablesTab), {
  ssr: false,
  loading: () => <SkeletonBlock lines={10} />,
});

const TABS = ["page", "chunks", "tables", "details", "history"] as const;
const LIST = "/documents/";

/** The list, as it was left. */
function useParent() {
  const { href, take } = useWayBack(LIST);
  return { href, label: "Documents", onFollow: take };
}

export function Viewer() {
  const router = useRouter();
  const parent = useParent();
  const [url, setUrl] = useQueryStates({
    id: parseAsString.withDefault(""),
    tab: parseAsStringLiteral(TABS).withDefault("page"),
    page: parseAsInteger.withDefault(1),
    hl: parseAsString,
  });
  const { data, error, refetch } = useQuery({
    ...documentQuery(url.id),
    enabled: url.id !== "",
    refetchInterval: (query) => {
      const found = query.state.data;
      return found && documentState(found).isLive ? pollEvery(LIVE_MILLISECONDS) : false;
    },
  });
  const { href: cameFrom, take } = useWayBack(LIST, url.id);
  const leave = () => {
    take();
    router.push(cameFrom);
  };
  // Among the chunks Escape closes the page beside them.
  useShortcuts(url.tab === "chunks" ? [] : [{ keys: "Escape", label: "Go back", group: "Document", run: leave }]);
  if (url.id === "" || error) {
    return (
      <>
        <PageHead title="Document" parent={parent} />
        {error ? <ErrorState error={error} retry={() => void refetch()} /> : <EmptyState title="No document selected" />}
      </>
    );
  }
  if (!data) {
    return (
      <>
        <PageHead title="Document" parent={parent} />
        <SkeletonBlock lines={10} />
      </>
    );
  }
  const tabHref = (tab: string) => `/documents/view/?id=${url.id}${tab === "page" ? "" : `&tab=${tab}`}`;
  return (
    <>
      <Head document={data} />
      <Tabs
        label="Document"
        current={url.tab}
        tabs={[
          { id: "page", label: "Page and text", href: tabHref("page") },
          { id: "chunks", label: "Chunks", href: tabHref("chunks") },
          ...(mayHaveTables(data.content_type) || url.tab === "tables" ? [{ id: "tables", label: "Tables", href: tabHref("tables") }] : []),
          { id: "details", label: "Details", href: tabHref("details") },
          { id: "history", label: "History", href: tabHref("history") },
        ]}
      />
      {url.tab === "page" && (
        <Reading
          document={data}
          page={Math.min(Math.max(1, url.page), data.page_count ?? 1)}
          passage={readPassage(url.hl)}
          onPage={(page) => void setUrl({ page }, { history: "push" })}
        />
      )}
      {url.tab === "chunks" && <ChunksTab document={data} />}
      {url.tab === "tables" && <TablesTab document={data} />}
      {url.tab === "details" && <DetailsTab document={data} />}
      {url.tab === "history" && <HistoryTab document={data} />}
    </>
  );
}

function Head({ document }: { document: DocumentDetail }) {
  const parent = useParent();
  const router = useRouter();
  const client = useQueryClient();
  const [isDeleting, setDeleting] = useState(false);
  const { data: progress } = useQuery({ ...extractionProgressQuery(), enabled: isExtracting(document) });
  const state = documentState(document, progress?.get(document.document_id));
  const { data: parts } = useQuery({ ...partsQuery(document.document_id, 0, 1), enabled: isDeleting });
  const partCount = parts?.total_count ?? 0;
  const attempt = async (what: string, act: () => Promise<unknown>) => {
    try {
      await act();
      return true;
    } catch (error) {
      tellFailure(what, error);
      return false;
    }
  };
  const readAgain = async () => {
    if (await attempt("The text could not be extracted again", () => extractAgain(document.document_id))) {
      toast("Extracting again. The current text stays searchable until the new one is ready.");
      await client.invalidateQueries({ queryKey: documentKeys.all });
    }
  };
  const remove = async () => {
    if (await attempt("The document was not deleted", () => deleteDocument(document.document_id))) {
      toast(`${document.document_name} deleted`);
      parent.onFollow();
      router.replace(parent.href);
      client.removeQueries({ queryKey: documentKeys.one(document.document_id) });
      await client.invalidateQueries({ queryKey: documentKeys.lists });
    }
  };
  return (
    <PageHead title={document.document_name} parent={parent}>
      <State tone={state.tone} {...(state.reason && { title: state.reason })}>
        {state.label}
      </State>
      <May to="extract_document">
        <Button title="Extract the text again" onClick={() => void readAgain()}>
          <RotateCw aria-hidden size={14} /> <span className="max-lg:sr-only">Extract again</span>
        </Button>
      </May>
      <Button title="Download" onClick={() => void attempt("The file could not be downloaded", () => download(document))}>
        <Download aria-hidden size={14} /> <span className="max-md:sr-only">Download</span>
      </Button>
      <May to="delete_document">
        <Button isIcon className="text-failed" aria-label="Delete the document" title="Delete" onClick={() => setDeleting(true)}>
          <Trash2 aria-hidden size={14} />
        </Button>
      </May>
      <ConfirmDialog
        open={isDeleting}
        onOpenChange={setDeleting}
        title={`Delete ${document.document_name}?`}
        action="Delete the document"
        onConfirm={() => void remove()}
      >
        {document.knowledge_bases.length > 0
          ? `It is removed from ${document.knowledge_bases.map((base) => base.name).join(", ")} at once.`
          : "Not in a knowledge base."}{" "}
        {partCount > 0 && `${plural(partCount, "document")} found in it will be deleted too. `}
        This cannot be undone.
      </ConfirmDialog>
    </PageHead>
  );
}
