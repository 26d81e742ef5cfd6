/** Uploads in batches: files that were chosen together and the options they are sent with. Survives navigation. */

import { useSyncExternalStore } from "react";

import { answered, api, idempotencyKey, organizationPath, type Schemas } from "@/api/client";
import { ApiError, NetworkError, sentence } from "@/api/errors";
import type { ChosenFile } from "@/lib/dropped-files";
import { session } from "@/state/session";

export type DuplicatePolicy = "return" | "replace" | "create";
type UploadedDocument = Schemas["UploadedDocument"];

export interface UploadOptions {
  tagIds: readonly string[];
  policy: DuplicatePolicy;
}

/** Files that were chosen together. Their options change until the batch is sent, and never after. */
export interface Batch extends UploadOptions {
  id: number;
  organizationId: string;
  isSent: boolean;
}

export type Upload = { id: number; batch: number } & ChosenFile &
  (
    | { phase: "chosen" | "waiting" }
    | { phase: "sending"; sentBytes: number }
    /** `missingTagIds`: tags of the batch that a document which was there already does not have. */
    | { phase: "taken"; documentId: string; outcome: string; missingTagIds: readonly string[] }
    | { phase: "refused"; reason: string }
  );

export interface UploadState {
  isOpen: boolean;
  batches: readonly Batch[];
  uploads: readonly Upload[];
}

/** Browsers open six connections to an HTTP/1.1 server; the page needs the others. */
const AT_ONCE = 3;
/** Lists are asked for anew at most this often, however many files are sent. */
const TAKEN_MILLISECONDS = 1_000;
const MOST_TAGGED = 500;
const NOTHING: UploadState = { isOpen: false, batches: [], uploads: [] };

let state = NOTHING;
let nextId = 1;
const listeners = new Set<() => void>();
const takenListeners = new Set<() => void>();

function change(next: Partial<UploadState>): void {
  state = { ...state, ...next };
  for (const listener of listeners) listener();
}

type Phase<Of = Upload> = Of extends Upload ? Omit<Of, "id" | "batch" | "file" | "path"> : never;

function put({ id, batch, file, path }: Upload, phase: Phase): void {
  const next = { ...phase, id, batch, file, path };
  change({ uploads: state.uploads.map((other) => (other.id === id ? next : other)) });
}

/** The batch that is not sent yet; there is at most one. */
export function draftOf({ batches }: UploadState): Batch | null {
  return batches.find((batch) => !batch.isSent) ?? null;
}

/** Add files to the batch that is not sent yet; a new batch begins without tags. */
export function addFiles(chosen: Iterable<ChosenFile>): void {
  const files = [...chosen];
  if (files.length === 0) return;
  const draft = draftOf(state) ?? newBatch();
  const added = files.map(({ file, path }): Upload => ({ id: nextId++, batch: draft.id, file, path, phase: "chosen" }));
  const batches = state.batches.includes(draft) ? state.batches : [...state.batches, draft];
  change({ isOpen: true, batches, uploads: [...state.uploads, ...added] });
}

function newBatch(): Batch {
  return { id: nextId++, organizationId: session.organizationId(), tagIds: [], policy: "return", isSent: false };
}

/** Ask for files by the system's dialog; they appear in the tray. */
export function chooseFiles(): void {
  ask(document.createElement("input"));
}

/** Ask for a folder, with all that is in it. */
export function chooseFolder(): void {
  const input = document.createElement("input");
  input.webkitdirectory = true;
  ask(input);
}

function ask(input: HTMLInputElement): void {
  input.type = "file";
  input.multiple = true;
  input.addEventListener("change", () =>
    addFiles(Array.from(input.files ?? [], (file) => ({ file, path: folderOf(file.webkitRelativePath) }))),
  );
  input.click();
}

/** The folder in "folder/inner/file.pdf"; null where there is none. */
export function folderOf(relativePath: string): string | null {
  const end = relativePath.lastIndexOf("/");
  return end > 0 ? relativePath.slice(0, end) : null;
}

/** Change the options of the batch that is not sent yet. */
export function changeDraft(options: Partial<UploadOptions>): void {
  change({ batches: state.batches.map((batch) => (batch.isSent ? batch : { ...batch, ...options })) });
}

export function sendDraft(): void {
  change({
    batches: state.batches.map((batch) => ({ ...batch, isSent: true })),
    uploads: state.uploads.map((upload) => (upload.phase === "chosen" ? { ...upload, phase: "waiting" } : upload)),
  });
  sendNext();
}

/** Send a refused file again, with the options of its own batch. */
export function retryUpload(upload: Upload): void {
  put(upload, { phase: "waiting" });
  sendNext();
}

/** Extract the text again of a file that became a document and failed. */
export function readAgain(documentId: string) {
  return answered(
    api.POST("/v0/orgs/{organization_id}/documents/{document_id}/extract", {
      params: { path: { ...organizationPath(), document_id: documentId } },
      headers: idempotencyKey(),
    }),
  );
}

/** Files of a batch that were uploaded before and lack some of its tags. */
export function untagged(uploads: readonly Upload[]) {
  return uploads.filter((upload) => upload.phase === "taken").filter((upload) => upload.missingTagIds.length > 0);
}

/** Add the tags of a batch to its documents that were uploaded before without them. */
export async function addMissingTags(uploads: readonly Upload[], tagIds: readonly string[]): Promise<void> {
  const lacking = untagged(uploads);
  for (let first = 0; first < lacking.length; first += MOST_TAGGED) {
    const some = lacking.slice(first, first + MOST_TAGGED);
    const { refused } = await answered(
      api.POST("/v0/orgs/{organization_id}/documents/changes", {
        params: { path: organizationPath() },
        headers: idempotencyKey(),
        body: { document_ids: some.map(({ documentId }) => documentId), add_tag_ids: [...tagIds] },
      }),
    );
    const refusedIds = new Set(refused.map(({ document_id: id }) => id));
    for (const upload of some) if (!refusedIds.has(upload.documentId)) put(upload, { ...upload, missingTagIds: [] });
    const [refusal] = refused;
    if (refusal) throw new Error(sentence(refusal.detail));
  }
}

export function removeUpload(id: number): void {
  keep(state.uploads.filter((upload) => upload.id !== id));
}

/** Remove the files that are not sent yet. */
export function discardDraft(): void {
  keep(state.uploads.filter((upload) => upload.phase !== "chosen"));
}

function keep(uploads: readonly Upload[]): void {
  const batches = state.batches.filter((batch) => uploads.some((upload) => upload.batch === batch.id));
  change({ uploads, batches, isOpen: state.isOpen && uploads.length > 0 });
}

/** Hide the tray. Files that are chosen or on their way stay, with a way back in the navigation; finished ones are done with. */
export function closeTray(): void {
  const isOver = progressOf(state).open === 0;
  change(isOver ? NOTHING : { isOpen: false });
}

export function openTray(): void {
  change({ isOpen: true });
}

export interface UploadProgress {
  chosen: number;
  /** Waiting or being sent. */
  under: number;
  taken: number;
  refused: number;
  /** Not finished: chosen, waiting or being sent. */
  open: number;
}

export function progressOf({ uploads }: Pick<UploadState, "uploads">): UploadProgress {
  const count = (...phases: Upload["phase"][]) => uploads.filter((upload) => phases.includes(upload.phase)).length;
  const chosen = count("chosen");
  const under = count("waiting", "sending");
  return { chosen, under, taken: count("taken"), refused: count("refused"), open: chosen + under };
}

function sendNext(): void {
  // Whoever was signed out signs in again first; files wait for it.
  if (session.current() === null) return;
  const sending = state.uploads.filter((upload) => upload.phase === "sending").length;
  const waiting = state.uploads.filter((upload) => upload.phase === "waiting");
  for (const upload of waiting.slice(0, Math.max(0, AT_ONCE - sending))) {
    put(upload, { phase: "sending", sentBytes: 0 });
    void send(upload);
  }
}

async function send(upload: Upload): Promise<void> {
  const batch = state.batches.find(({ id }) => id === upload.batch);
  if (batch === undefined) return;
  try {
    const uploaded = await post(batch, upload, (sentBytes) => put(upload, { phase: "sending", sentBytes }));
    if (uploaded.document_id === null) {
      put(upload, { phase: "refused", reason: sentence(uploaded.error?.detail ?? "The server refused the file") });
    } else {
      const present = uploaded.document?.tag_ids ?? batch.tagIds;
      const missingTagIds = batch.tagIds.filter((id) => !present.includes(id));
      put(upload, { phase: "taken", documentId: uploaded.document_id, outcome: uploaded.outcome, missingTagIds });
      tellTaken();
    }
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) {
      put(upload, { phase: "waiting" });
      session.end();
      return;
    }
    put(upload, { phase: "refused", reason: error instanceof Error ? error.message : "The file could not be sent." });
  }
  sendNext();
}

/** One file by XMLHttpRequest: fetch does not tell how much it has sent. */
function post(
  { organizationId, tagIds, policy }: Batch,
  { file, path }: Upload,
  onProgress: (sentBytes: number) => void,
): Promise<UploadedDocument> {
  const form = new FormData();
  for (const tagId of tagIds) form.append("tag_ids", tagId);
  form.append("on_duplicate", policy);
  // Before the file: then the server knows which document the file is while it comes in.
  if (path !== null) form.append("paths", `${path}/${file.name}`);
  form.append("files", file, file.name);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `/v0/orgs/${organizationId}/documents`);
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

session.onChange(() => {
  if (session.current() !== null) sendNext();
  else if (session.ended() === null) change(NOTHING);
});

let telling: ReturnType<typeof setTimeout> | null = null;

function tellTaken(): void {
  telling ??= setTimeout(() => {
    telling = null;
    for (const listener of takenListeners) listener();
  }, TAKEN_MILLISECONDS);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Call when files have become documents, so that lists show them. */
export function onTaken(listener: () => void): () => void {
  takenListeners.add(listener);
  return () => takenListeners.delete(listener);
}

export function useUploads(): UploadState {
  return useSyncExternalStore(
    subscribe,
    () => state,
    () => NOTHING,
  );
}
