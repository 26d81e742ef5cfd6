"use client";

import { useQuery } from "@tanstack/react-query";
import { parseAsInteger, useQueryState } from "nuqs";

import { type Schemas } from "@/api/client";
import { EmptyState, ErrorState, SkeletonRows } from "@/components/feedback";
import { Pager } from "@/components/pager";
import { ScrollArea } from "@/components/scroll-area";
import { State, type Tone } from "@/components/state";
import { Time } from "@/components/time";
import { DataTable } from "@/components/ui/data-table";
import { formatBytes, formatCount, plural } from "@/lib/format";
import { useLastPage } from "@/state/use-last-page";

import { BACKUPS_A_PAGE, backupsQuery } from "./queries";

type Backup = Schemas["BackupResponse"];

const OUTCOMES: Record<Backup["outcome"], { tone: Tone; words: string }> = {
  running: { tone: "working", words: "Running" },
  done: { tone: "ready", words: "Done" },
  failed: { tone: "failed", words: "Failed" },
  interrupted: { tone: "failed", words: "Interrupted" },
};
/** Of an archive, what people know by a name; the rest is told as rows. */
const NAMED: [collection: string, one: string][] = [
  ["docs", "document"],
  ["knowledge_bases", "knowledge base"],
  ["kb_vectors_", "chunk"],
  ["prompts", "prompt"],
];

/** Which archives of the organization were made, which were brought back, and how to make one. */
export function Backups() {
  const [page, setPage] = useQueryState("page", parseAsInteger.withDefault(1).withOptions({ history: "push" }));
  const at = Math.max(1, page);
  const { data, error, refetch } = useQuery(backupsQuery((at - 1) * BACKUPS_A_PAGE));
  useLastPage(page, data?.total_count, BACKUPS_A_PAGE, (last) => setPage(last, { history: "replace" }));
  if (error && !data) return <ErrorState error={error} retry={() => void refetch()} />;
  return (
    <>
      <ScrollArea label="Backups">
        <p className="max-w-[760px] px-4 py-3 text-text-2">
          The operator of this server creates, checks and restores backups, and keeps the archives.
        </p>
        {data?.total_count === 0 ? (
          <EmptyState title="No backups yet">Backups and restores are listed here, with the reason if one fails.</EmptyState>
        ) : (
          <DataTable
            caption="Backups and restores"
            isCards
            head={
              <>
                <th className="w-[130px] pl-4! max-md:w-[104px]">When</th>
                <th className="w-[120px] max-md:w-[76px]">What</th>
                <th className="w-[130px] max-md:w-[110px]">Result</th>
                <th data-column="name">Contents</th>
                <th className="number w-[100px] max-md:hidden">Size</th>
                <th className="w-[150px] @max-[830px]:hidden">SHA-256</th>
              </>
            }
          >
            {data === undefined ? (
              <SkeletonRows rows={4} columns={["60%", "60%", "60%", "70%", "50%", "60%"]} />
            ) : (
              data.backups.map((backup) => <BackupRow key={backup.backup_id} backup={backup} />)
            )}
          </DataTable>
        )}
      </ScrollArea>
      {data && data.total_count > BACKUPS_A_PAGE && (
        <Pager
          skip={data.skip}
          shown={data.backups.length}
          total={data.total_count}
          page={at}
          pageCount={Math.ceil(data.total_count / BACKUPS_A_PAGE)}
          onPage={(next) => void setPage(next)}
        />
      )}
    </>
  );
}

function BackupRow({ backup }: { backup: Backup }) {
  const { tone, words } = OUTCOMES[backup.outcome];
  const reason =
    backup.outcome === "interrupted"
      ? "The process was stopped before it finished, and left no archive. Ask the operator for another backup."
      : backup.error_detail;
  return (
    <tr>
      <td className="pl-4! text-text-2">
        <Time at={backup.started_at} />
      </td>
      <td title={backup.command}>{backup.kind === "backup" ? "Backup" : "Restore"}</td>
      <td>
        <State tone={tone} {...(reason && { title: reason })}>
          {words}
        </State>
      </td>
      <td className={reason ? "whitespace-normal! break-words text-failed" : "text-text-2"} title={rowsOf(backup)}>
        {reason ?? contentsOf(backup)}
      </td>
      <td className="number max-md:hidden" title={backup.byte_size === null ? "The archive holds other organizations too" : undefined}>
        {formatBytes(backup.byte_size)}
      </td>
      <td className="font-mono text-xs text-text-2 @max-[830px]:hidden" title={backup.sha256 ?? undefined}>
        {backup.sha256 ? `${backup.sha256.slice(0, 16)}…` : "–"}
      </td>
    </tr>
  );
}

function contentsOf(backup: Backup): string {
  const rows = new Map(backup.contents.map(({ collection, rows: count }) => [collection, count]));
  const named = NAMED.filter(([collection]) => (rows.get(collection) ?? 0) > 0).map(([collection, one]) =>
    plural(rows.get(collection) ?? 0, one),
  );
  if (backup.has_secrets) named.push("access tokens and encrypted keys");
  return named.join(", ") || "–";
}

function rowsOf(backup: Backup): string | undefined {
  if (backup.contents.length === 0) return undefined;
  return backup.contents.map(({ collection, rows }) => `${collection}: ${formatCount(rows)}`).join("\n");
}
