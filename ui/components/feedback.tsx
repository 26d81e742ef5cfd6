"use client";

import { CopyIcon, RotateCw } from "lucide-react";
import { toast } from "sonner";

import { ApiError, NetworkError } from "@/api/errors";
import { Button } from "@/components/ui/button";

/** What happened, what to do next, and what an operator needs to find it in the log. */
export function ErrorState({ error, retry, title }: { error: unknown; retry?: () => void; title?: string }) {
  const known = error instanceof Error ? error : new Error("Something unexpected happened.");
  const request = error instanceof ApiError ? error.requestId : null;
  return (
    <div role="alert" className="mx-auto flex max-w-[560px] flex-col items-start gap-3 px-4 py-12">
      <h2 className="text-lg font-semibold">{title ?? titleOf(error)}</h2>
      <p className="text-base break-words text-text-2">
        {known.message}
        {error instanceof ApiError && error.status === 404 && " It may have been deleted, or it belongs to another organization."}
      </p>
      <div className="flex flex-wrap gap-2">
        {retry && (
          <Button onClick={retry}>
            <RotateCw aria-hidden size={14} /> Try again
          </Button>
        )}
        {error instanceof ApiError && (
          <Button variant="quiet" onClick={() => void copyDetails(error)}>
            <CopyIcon aria-hidden size={14} /> Copy details
          </Button>
        )}
      </div>
      {request && <p className="text-xs text-text-3">Request {request}</p>}
    </div>
  );
}

function titleOf(error: unknown): string {
  if (error instanceof NetworkError) return "No connection";
  if (!(error instanceof ApiError)) return "Could not show this";
  switch (error.status) {
    case 402:
      return "Quota used";
    case 403:
      return "Not allowed";
    case 404:
      return "Not found";
    case 429:
      return "Too many requests";
    case 503:
      return "Not available just now";
    default:
      return "Could not load this";
  }
}

async function copyDetails(error: ApiError): Promise<void> {
  await copyText(`${error.status} ${error.code}\n${error.message}\nrequest ${error.requestId ?? "unknown"}`);
}

/** Copy, also where the page is served without HTTPS and the clipboard is therefore closed. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast("Copied");
  } catch {
    toast("The browser did not allow copying", { description: text });
  }
}

/** Tell of an action that failed; the page stays as it was. */
export function tellFailure(what: string, error: unknown): void {
  const detail = error instanceof Error ? error.message : "An unexpected error.";
  toast.error(what, {
    description: detail,
    duration: 10_000,
    ...(error instanceof ApiError && { action: { label: "Copy details", onClick: () => void copyDetails(error) } }),
  });
}

/** Nothing is there, and what to do about it. */
export function EmptyState({ title, children, action }: { title: string; children?: React.ReactNode; action?: React.ReactNode }) {
  return (
    <div className="mx-auto flex max-w-[520px] flex-col items-center gap-3 px-4 py-16 text-center">
      <h2 className="text-lg font-semibold">{title}</h2>
      {children && <div className="text-base text-text-2">{children}</div>}
      {action && <div className="flex flex-wrap justify-center gap-2">{action}</div>}
    </div>
  );
}

/** Rows in the place of rows that are on their way; unseen for the first 150 ms. */
export function SkeletonRows({ rows, columns }: { rows: number; columns: readonly string[] }) {
  return (
    <>
      {Array.from({ length: rows }, (_, row) => (
        <tr key={row} className="late" aria-hidden>
          {columns.map((width, column) => (
            <td key={column}>
              <span className="skeleton h-3" style={{ width }} />
            </td>
          ))}
        </tr>
      ))}
    </>
  );
}

export function SkeletonBlock({ lines = 4 }: { lines?: number }) {
  return (
    <div className="late flex flex-col gap-3 p-4" aria-busy="true">
      <span className="sr-only" role="status">
        Loading
      </span>
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} className="skeleton h-4" style={{ width: `${88 - (line % 3) * 17}%` }} />
      ))}
    </div>
  );
}

/** 2 px that say that rows are being renewed; the rows stay. */
export function BusyLine({ isBusy }: { isBusy: boolean }) {
  return (
    <div className="relative h-0" aria-hidden>
      {isBusy && (
        <div className="late absolute inset-x-0 top-0 z-10 h-[2px] overflow-hidden">
          <div className="h-full w-1/4 bg-accent" style={{ animation: "busy 1s linear infinite" }} />
        </div>
      )}
    </div>
  );
}
