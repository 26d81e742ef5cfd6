"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { RotateCw, X } from "lucide-react";
import Link from "next/link";

import { documentQuery } from "@/api/queries";
import { documentKeys } from "@/api/keys";
import { tellFailure } from "@/components/feedback";
import { State } from "@/components/state";
import { Button } from "@/components/ui/button";
import { documentState } from "@/lib/document-state";
import { formatBytes } from "@/lib/format";
import { pollEvery } from "@/state/live";
import { readAgain, removeUpload, retryUpload, type Upload } from "@/state/uploads";

const TRAY_MILLISECONDS = 3_000;

/** A file of a batch: its name, and what became of it. */
export function UploadRow({ upload, nameOf }: { upload: Upload; nameOf: (tagId: string) => string }) {
  const { name } = upload.file;
  const shown = upload.path === null ? name : `${upload.path}/${name}`;
  return (
    <li className="flex flex-col gap-0.5 border-b border-line px-3 py-2 last:border-0">
      <div className="flex items-center gap-2">
        <span className="min-w-0 flex-1 truncate" title={shown}>
          {upload.phase === "taken" ? (
            <Link className="text-link hover:underline" href={`/documents/view/?id=${upload.documentId}`}>
              {shown}
            </Link>
          ) : (
            shown
          )}
        </span>
        <span className="shrink-0 text-xs text-text-3 tabular-nums">{formatBytes(upload.file.size)}</span>
        {(upload.phase === "chosen" || upload.phase === "refused") && (
          <Button variant="quiet" size="small" aria-label={`Remove ${name}`} onClick={() => removeUpload(upload.id)}>
            <X aria-hidden size={13} />
          </Button>
        )}
      </div>
      <UploadResult upload={upload} nameOf={nameOf} />
    </li>
  );
}

function UploadResult({ upload, nameOf }: { upload: Upload; nameOf: (tagId: string) => string }) {
  switch (upload.phase) {
    case "chosen":
      return null;
    case "waiting":
      return <State tone="queued">Waiting to be sent</State>;
    case "sending": {
      const percent = upload.file.size === 0 ? 100 : Math.round((upload.sentBytes / upload.file.size) * 100);
      return (
        <div className="flex items-center gap-2">
          <progress className="sr-only" aria-label={`Sending ${upload.file.name}`} max={100} value={percent} />
          <div aria-hidden className="h-1 flex-1 overflow-hidden rounded bg-hover">
            <div className="h-full origin-left bg-accent transition-transform" style={{ transform: `scaleX(${percent / 100})` }} />
          </div>
          <span className="w-10 text-right text-xs whitespace-nowrap text-text-3 tabular-nums">{percent} %</span>
        </div>
      );
    }
    case "refused":
      return (
        <div className="flex items-start gap-2">
          <span className="min-w-0 flex-1 break-words text-failed">{upload.reason}</span>
          <Button size="small" onClick={() => retryUpload(upload)}>
            <RotateCw aria-hidden size={12} /> Retry
          </Button>
        </div>
      );
    case "taken":
      return <TakenState upload={upload} nameOf={nameOf} />;
  }
}

type Taken = Extract<Upload, { phase: "taken" }>;

function outcomeOf({ outcome, missingTagIds }: Taken, nameOf: (tagId: string) => string): string | null {
  if (outcome === "replaced") return "Replaced.";
  if (outcome !== "returned") return null;
  if (missingTagIds.length === 0) return "Already uploaded.";
  return `Already uploaded; ${missingTagIds.length === 1 ? "tag" : "tags"} ${missingTagIds.map(nameOf).join(", ")} not added.`;
}

function TakenState({ upload, nameOf }: { upload: Taken; nameOf: (tagId: string) => string }) {
  const { data } = useQuery({
    ...documentQuery(upload.documentId),
    refetchInterval: (query) => (query.state.data && !documentState(query.state.data).isLive ? false : pollEvery(TRAY_MILLISECONDS)),
  });
  const client = useQueryClient();
  const again = useMutation({
    mutationFn: () => readAgain(upload.documentId),
    onSuccess: () => client.invalidateQueries({ queryKey: documentKeys.all }),
    onError: (error) => tellFailure(`Could not extract ${upload.file.name} again`, error),
  });
  const outcome = outcomeOf(upload, nameOf);
  if (!data) return <State tone="queued">Sent</State>;
  const state = documentState(data);
  const hasFailed = state.tone === "failed";
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-x-1">
      {outcome && <span className="text-text-2">{outcome}</span>}
      <State tone={state.tone} {...(state.reason && { title: state.reason })}>
        {state.label}
      </State>
      {hasFailed && state.canRetry && (
        <Button size="small" className="ml-auto shrink-0" disabled={again.isPending} onClick={() => again.mutate()}>
          <RotateCw aria-hidden size={12} /> Retry
        </Button>
      )}
      {hasFailed && state.reason && <span className="basis-full break-words text-failed">{state.reason}</span>}
    </div>
  );
}
