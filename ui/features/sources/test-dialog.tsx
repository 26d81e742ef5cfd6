"use client";

import { useQuery } from "@tanstack/react-query";
import { RotateCw } from "lucide-react";

import type { Schemas } from "@/api/client";
import { ErrorState, SkeletonBlock } from "@/components/feedback";
import { May } from "@/components/may";
import { Banner, State } from "@/components/state";
import { Button, ButtonLink } from "@/components/ui/button";
import { DataTable } from "@/components/ui/data-table";
import { Dialog } from "@/components/ui/dialog";
import { formatBytes } from "@/lib/format";

import { type Source, type TestResult, testQuery } from "./queries";
import { SignInButton } from "./sign-in-button";

/** Tests the stored settings of a source. */
export function SourceTestDialog({ source, onClose }: { source: Source; onClose: () => void }) {
  const { data, error, isFetching, refetch } = useQuery(testQuery(source.source_id, source.updated_at));
  return (
    <TestDialog
      title={`Test of ${source.name}`}
      test={{ data, error, isTesting: isFetching }}
      onAgain={() => void refetch()}
      onClose={onClose}
      change={
        <div className="flex flex-wrap gap-2">
          {data?.code === "sign_in_needed" && <SignInButton source={source} />}
          <May to="update_source">
            <ButtonLink href={`/sources/view/?id=${source.source_id}&tab=settings`}>Change settings</ButtonLink>
          </May>
        </div>
      }
    />
  );
}

/** Shows how the connection to a source is tested, and its first items; nothing is stored. */
export function TestDialog({
  title,
  test,
  change,
  onAgain,
  onClose,
}: {
  title: string;
  test: { data: TestResult | undefined; error: Error | null; isTesting: boolean };
  /** The way to the settings of a source that cannot be read. */
  change: React.ReactNode;
  onAgain: () => void;
  onClose: () => void;
}) {
  return (
    <Dialog
      open
      wide
      onOpenChange={(isOpen) => !isOpen && onClose()}
      title={title}
      footer={
        <>
          <Button disabled={test.isTesting} onClick={onAgain}>
            <RotateCw aria-hidden size={14} /> Test again
          </Button>
          <Button variant="primary" onClick={onClose}>
            Done
          </Button>
        </>
      }
    >
      {test.isTesting ? (
        <div role="status">
          <State tone="working">Connecting…</State>
          <SkeletonBlock lines={4} />
        </div>
      ) : test.error ? (
        <ErrorState error={test.error} title="The test could not run" />
      ) : test.data ? (
        <Result result={test.data} change={change} />
      ) : null}
    </Dialog>
  );
}

function Result({ result, change }: { result: TestResult; change: React.ReactNode }) {
  if (!result.is_ok) {
    return (
      <div className="flex flex-col items-start gap-3">
        <Banner tone="failed">{result.problem ?? "The source cannot be read."}</Banner>
        {change}
      </div>
    );
  }
  if (result.items.length === 0) {
    return <Banner tone="warning">The source answers, but has no items that the patterns accept.</Banner>;
  }
  return (
    <div className="flex flex-col gap-3">
      <p role="status">
        <State tone="ready">The source answers. These are its first items; nothing is stored yet.</State>
      </p>
      <DataTable
        caption="First items"
        head={
          <>
            <th data-column="name">Item</th>
            <th className="number w-[90px] max-md:hidden">Size</th>
            <th className="w-[50%]">Fields</th>
          </>
        }
      >
        {result.items.map((item) => (
          <FoundRow key={item.external_id} item={item} />
        ))}
      </DataTable>
    </div>
  );
}

function FoundRow({ item }: { item: Schemas["FoundItemResponse"] }) {
  const fields = Object.entries(item.fields).map(
    ([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return (
    <tr>
      <td>
        <span className="block truncate" title={item.name}>
          {item.name}
        </span>
        {item.problem && (
          <span className="block truncate text-xs text-warn" title={item.problem}>
            {item.problem}
          </span>
        )}
      </td>
      <td className="number text-text-2 max-md:hidden">{formatBytes(item.byte_size)}</td>
      <td className="text-text-2 break-words whitespace-normal!">{fields.join(", ") || "–"}</td>
    </tr>
  );
}
