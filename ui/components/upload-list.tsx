"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { RotateCw, Tag as TagIcon, X } from "lucide-react";
import Link from "next/link";
import { useLayoutEffect, useRef, useState } from "react";

import { documentQuery, tagIndexQuery } from "@/api/queries";
import { tellFailure } from "@/components/feedback";
import { State } from "@/components/state";
import { TagChips } from "@/components/tag-chip";
import { TagPicker } from "@/components/tag-picker";
import { documentState } from "@/lib/document-state";
import { formatBytes, plural } from "@/lib/format";
import { pollEvery } from "@/lib/live";
import { chooseFiles, closeTray, type DuplicatePolicy, readAgain, removeUpload, retryUpload, sendChosen, type Upload } from "@/lib/uploads";

const TRAY_MILLISECONDS = 3_000;

/** The files that were dropped or chosen: tags for them, and a row for each until it can be found. */
export function UploadList({ uploads }: { uploads: readonly Upload[] }) {
  const [tagIds, setTagIds] = useState<string[]>([]);
  const [policy, setPolicy] = useState<DuplicatePolicy>("return");
  const { data: tagIndex } = useQuery(tagIndexQuery());
  const chosen = uploads.filter((upload) => upload.phase === "chosen").length;
  const heading = useFocusWhileOpen();
  return (
    <section
      aria-label="Uploads"
      className="layer appear fixed right-3 bottom-3 z-30 flex max-h-[70dvh] w-[400px] max-w-[calc(100vw-24px)] flex-col max-md:bottom-[68px]"
    >
      <div className="flex items-center gap-2 border-b border-line px-3 py-2">
        <h2 ref={heading} tabIndex={-1} className="flex-1 font-semibold outline-none">{titleOf(uploads)}</h2>
        <button type="button" className="button button-small" onClick={chooseFiles}>
          Add files
        </button>
        <button type="button" className="button button-quiet button-small" onClick={closeTray} aria-label="Close uploads">
          <X aria-hidden size={14} />
        </button>
      </div>
      <ul className="min-h-0 flex-1 overflow-y-auto">
        {uploads.map((upload) => (
          <UploadRow key={upload.id} upload={upload} />
        ))}
      </ul>
      {chosen > 0 && (
        <form
          className="flex flex-col gap-2 border-t border-line p-3"
          onSubmit={(event) => {
            event.preventDefault();
            sendChosen(tagIds, policy);
          }}
        >
          <div className="flex flex-wrap items-center gap-2">
            <TagPicker
              ticked={(id) => (tagIds.includes(id) ? "all" : "none")}
              onToggle={(tag, isOn) =>
                setTagIds((ids) => (isOn ? [...ids, tag.tag_id] : ids.filter((id) => id !== tag.tag_id)))
              }
            >
              <button type="button" className="button button-small">
                <TagIcon aria-hidden size={13} /> Tags
              </button>
            </TagPicker>
            {tagIds.length > 0 ? (
              <TagChips tagIds={tagIds} index={tagIndex} most={3} />
            ) : (
              <span className="text-text-3">Tags decide which knowledge bases take them in</span>
            )}
          </div>
          <label className="flex items-center gap-2">
            <span className="shrink-0 text-text-2">If a file is there already</span>
            <select className="field" value={policy} onChange={(event) => setPolicy(event.target.value as DuplicatePolicy)}>
              <option value="return">keep the one that is there</option>
              <option value="replace">make it its next version</option>
              <option value="create">add it once more</option>
            </select>
          </label>
          <button type="submit" className="button button-primary">
            Upload {plural(chosen, "file")}
          </button>
        </form>
      )}
    </section>
  );
}

/** The tray is last in the page: who chose files by the keyboard is taken to it, and back when it closes. */
function useFocusWhileOpen() {
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    const tray = heading.current?.closest("section");
    heading.current?.focus();
    return () => {
      // Afterwards, when the tray is gone: only a focus that went with it is brought back.
      const hadFocus = tray?.contains(document.activeElement) ?? false;
      if (hadFocus && before instanceof HTMLElement) queueMicrotask(() => before.isConnected && before.focus());
    };
  }, []);
  return heading;
}

function titleOf(uploads: readonly Upload[]): string {
  const chosen = uploads.filter((upload) => upload.phase === "chosen").length;
  if (chosen === uploads.length) return plural(chosen, "file");
  const under = uploads.filter((upload) => upload.phase === "waiting" || upload.phase === "sending").length;
  const sent = uploads.length - chosen - under;
  return under > 0 ? `Sending, ${sent} of ${uploads.length - chosen} done` : `${plural(sent, "file")} sent`;
}

function UploadRow({ upload }: { upload: Upload }) {
  return (
    <li className="flex flex-col gap-0.5 border-b border-line px-3 py-2 last:border-0">
      <div className="flex items-center gap-2">
        <span className="min-w-0 flex-1 truncate" title={upload.file.name}>
          {upload.phase === "taken" ? (
            <Link className="text-link hover:underline" href={`/documents/view/?id=${upload.documentId}`}>
              {upload.file.name}
            </Link>
          ) : (
            upload.file.name
          )}
        </span>
        <span className="shrink-0 text-xs text-text-3 tabular-nums">{formatBytes(upload.file.size)}</span>
        {(upload.phase === "chosen" || upload.phase === "refused") && (
          <button
            type="button"
            className="button button-quiet button-small"
            aria-label={`Leave out ${upload.file.name}`}
            onClick={() => removeUpload(upload.id)}
          >
            <X aria-hidden size={13} />
          </button>
        )}
      </div>
      <UploadResult upload={upload} />
    </li>
  );
}

function UploadResult({ upload }: { upload: Upload }) {
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
          <span className="w-10 text-right text-xs text-text-3 tabular-nums">{percent} %</span>
        </div>
      );
    }
    case "refused":
      return (
        <div className="flex items-start gap-2">
          <span className="min-w-0 flex-1 break-words text-failed">{upload.reason}</span>
          <button type="button" className="button button-small" onClick={() => retryUpload(upload)}>
            <RotateCw aria-hidden size={12} /> Retry
          </button>
        </div>
      );
    case "taken":
      return <TakenState upload={upload} />;
  }
}

const OUTCOME: Record<string, string> = {
  returned: "It was there already. ",
  replaced: "Now its next version. ",
};

function TakenState({ upload }: { upload: Extract<Upload, { phase: "taken" }> }) {
  const { data } = useQuery({
    ...documentQuery(upload.documentId),
    refetchInterval: (query) => (query.state.data && !documentState(query.state.data).isLive ? false : pollEvery(TRAY_MILLISECONDS)),
  });
  const client = useQueryClient();
  const again = useMutation({
    mutationFn: () => readAgain(upload.documentId),
    onSuccess: () => client.invalidateQueries({ queryKey: ["documents"] }),
    onError: (error) => tellFailure(`${upload.file.name} is not read again`, error),
  });
  if (!data) return <State tone="queued">Sent</State>;
  const state = documentState(data);
  return (
    <div className="flex min-w-0 items-center gap-1">
      {OUTCOME[upload.outcome] && <span className="shrink-0 text-text-2">{OUTCOME[upload.outcome]}</span>}
      <State tone={state.tone} {...(state.reason && { title: state.reason })}>
        {state.tone === "failed" && state.reason ? state.reason : state.label}
      </State>
      {state.tone === "failed" && state.canRetry && (
        <button type="button" className="button button-small ml-auto shrink-0" disabled={again.isPending} onClick={() => again.mutate()}>
          <RotateCw aria-hidden size={12} /> Retry
        </button>
      )}
    </div>
  );
}
