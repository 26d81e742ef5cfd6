"use client";

import { useQueryClient } from "@tanstack/react-query";
import { UploadCloud } from "lucide-react";
import dynamic from "next/dynamic";
import { useEffect, useState } from "react";

import { documentKeys } from "@/api/keys";

import { tellFailure } from "@/components/feedback";
import { droppedFiles } from "@/lib/dropped-files";
import { useMay } from "@/state/permissions";
import { addFiles, onTaken, progressOf, useUploads } from "@/state/uploads";

// Loaded when there are files: with its tag picker it is a tenth of a page.
const UploadList = dynamic(() => import("@/components/upload-list").then((module) => module.UploadList), { ssr: false });

/** Files dropped anywhere, or chosen; and the tray that shows what becomes of them. */
export function UploadTray() {
  return useMay("upload_documents") ? <OpenTray /> : null;
}

function OpenTray() {
  const state = useUploads();
  const isDragging = useDropAnywhere();
  const client = useQueryClient();
  useEffect(() => onTaken(() => void client.invalidateQueries({ queryKey: documentKeys.lists })), [client]);
  useWarningOnLeaving(progressOf(state).open > 0);
  return (
    <>
      {isDragging && (
        <div className="pointer-events-none fixed inset-3 z-50 flex items-center justify-center rounded-xl border-2 border-dashed border-focus bg-[color-mix(in_srgb,var(--canvas)_82%,transparent)]">
          <span className="flex items-center gap-2 text-lg font-semibold">
            <UploadCloud aria-hidden size={20} /> Drop to upload
          </span>
        </div>
      )}
      {state.isOpen && <UploadList state={state} />}
    </>
  );
}

function useDropAnywhere(): boolean {
  const [isDragging, setDragging] = useState(false);
  useEffect(() => {
    let depth = 0;
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const enter = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      depth += 1;
      setDragging(true);
    };
    const leave = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      depth = Math.max(0, depth - 1);
      if (depth === 0) setDragging(false);
    };
    const over = (event: DragEvent) => {
      if (hasFiles(event)) event.preventDefault();
    };
    const drop = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      depth = 0;
      setDragging(false);
      if (event.dataTransfer === null) return;
      droppedFiles(event.dataTransfer).then(addFiles, (error: unknown) => tellFailure("Could not read the dropped folder", error));
    };
    const events = { dragenter: enter, dragleave: leave, dragover: over, drop } as const;
    for (const [name, listener] of Object.entries(events)) addEventListener(name, listener as EventListener);
    return () => {
      for (const [name, listener] of Object.entries(events)) removeEventListener(name, listener as EventListener);
    };
  }, []);
  return isDragging;
}

function useWarningOnLeaving(isUnfinished: boolean): void {
  useEffect(() => {
    if (!isUnfinished) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, [isUnfinished]);
}
