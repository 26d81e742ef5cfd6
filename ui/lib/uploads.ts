/** Files on their way: chosen, sent three at a time, and what became of each. Survives navigation. */

import { useSyncExternalStore } from "react";

import { answered, api, idempotencyKey, organizationPath, type Schemas } from "@/api/client";
import { ApiError, NetworkError } from "@/api/errors";
import { session } from "@/lib/session";

export type DuplicatePolicy = "return" | "replace" | "create";
type UploadedDocument = Schemas["UploadedDocument"];

export type Upload = { id: number; file: File } & (
  | { phase: "chosen" | "waiting" }
  | { phase: "sending"; sentBytes: number }
  | { phase: "taken"; documentId: string; outcome: string }
  | { phase: "refused"; reason: string }
);

export interface UploadState {
  isOpen: boolean;
  uploads: readonly Upload[];
}

/** Browsers open six connections to an HTTP/1.1 server; the page needs the others. */
const AT_ONCE = 3;

let state: UploadState = { isOpen: false, uploads: [] };
let nextId = 1;
let options: { tagIds: string[]; policy: DuplicatePolicy } = { tagIds: [], policy: "return" };
const listeners = new Set<() => void>();
const takenListeners = new Set<() => void>();

function change(next: Partial<UploadState>): void {
  state = { ...state, ...next };
  for (const listener of listeners) listener();
}

function put(upload: Upload): void {
  change({ uploads: state.uploads.map((other) => (other.id === upload.id ? upload : other)) });
}

export function addFiles(files: Iterable<File>): void {
  const added = Array.from(files, (file): Upload => ({ id: nextId++, file, phase: "chosen" }));
  if (added.length > 0) change({ isOpen: true, uploads: [...state.uploads, ...added] });
}

/** Ask for files by the system's dialog; they appear in the tray. */
export function chooseFiles(): void {
  const input = document.createElement("input");
  input.type = "file";
  input.multiple = true;
  input.addEventListener("change", () => addFiles(input.files ?? []));
  input.click();
}

export function sendChosen(tagIds: readonly string[], policy: DuplicatePolicy): void {
  options = { tagIds: [...tagIds], policy };
  change({
    uploads: state.uploads.map((upload) =>
      upload.phase === "chosen" ? { id: upload.id, file: upload.file, phase: "waiting" } : upload,
    ),
  });
  sendNext();
}

export function retryUpload(upload: Upload): void {
  put({ id: upload.id, file: upload.file, phase: "waiting" });
  sendNext();
}

/** Of a file that became a document and could not be read. */
export function readAgain(documentId: string) {
  return answered(
    api.POST("/v0/orgs/{organization_id}/documents/{document_id}/extract", {
      params: { path: { ...organizationPath(), document_id: documentId } },
      headers: idempotencyKey(),
    }),
  );
}

export function removeUpload(id: number): void {
  change({ uploads: state.uploads.filter((upload) => upload.id !== id) });
  if (state.uploads.length === 0) change({ isOpen: false });
}

/** Close the tray; what is still being sent goes on. */
export function closeTray(): void {
  const kept = state.uploads.filter((upload) => upload.phase === "waiting" || upload.phase === "sending");
  change({ isOpen: false, uploads: kept });
}

export function openTray(): void {
  change({ isOpen: true });
}

function sendNext(): void {
  const sending = state.uploads.filter((upload) => upload.phase === "sending").length;
  const waiting = state.uploads.filter((upload) => upload.phase === "waiting");
  for (const upload of waiting.slice(0, Math.max(0, AT_ONCE - sending))) {
    put({ id: upload.id, file: upload.file, phase: "sending", sentBytes: 0 });
    void send(upload);
  }
}

async function send({ id, file }: Upload): Promise<void> {
  try {
    const uploaded = await post(file, (sentBytes) => put({ id, file, phase: "sending", sentBytes }));
    if (uploaded.document_id === null) {
      put({ id, file, phase: "refused", reason: uploaded.error?.detail ?? "The server did not take it." });
    } else {
      put({ id, file, phase: "taken", documentId: uploaded.document_id, outcome: uploaded.outcome });
      for (const listener of takenListeners) listener();
    }
  } catch (error) {
    put({ id, file, phase: "refused", reason: error instanceof Error ? error.message : "It could not be sent." });
  }
  sendNext();
}

/** One file by XMLHttpRequest: fetch does not tell how much it has sent. */
function post(file: File, onProgress: (sentBytes: number) => void): Promise<UploadedDocument> {
  const form = new FormData();
  for (const tagId of options.tagIds) form.append("tag_ids", tagId);
  form.append("on_duplicate", options.policy);
  form.append("files", file, file.name);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `/v0/orgs/${session.organizationId()}/documents`);
    const headers = { ...session.headers(), ...idempotencyKey() };
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.addEventListener("progress", (event) => onProgress(Math.min(event.loaded, file.size)));
    request.addEventListener("error", () => reject(new NetworkError()));
    request.addEventListener("load", () => {
      const body = parsed(request.responseText);
      const first = (body as { documents?: UploadedDocument[] } | null)?.documents?.[0];
      if (first !== undefined) resolve(first);
      else reject(new ApiError(request.status, body, null));
    });
    request.send(form);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Call when a file has become a document, so that lists show it. */
export function onTaken(listener: () => void): () => void {
  takenListeners.add(listener);
  return () => takenListeners.delete(listener);
}

const NOTHING: UploadState = { isOpen: false, uploads: [] };

export function useUploads(): UploadState {
  return useSyncExternalStore(
    subscribe,
    () => state,
    () => NOTHING,
  );
}
