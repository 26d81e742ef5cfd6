/** What is done to documents, one or many; the API takes them one by one. */

import { answered, api, idempotencyKey, organizationPath, type Schemas } from "@/api/client";
import type { Document } from "@/api/queries";
import { original } from "@/components/viewer/queries";
import { saveFile } from "@/lib/save-file";
import { session } from "@/state/session";

import { changeMany, type MetadataChanges } from "./bulk-changes";

export type PageReading = Schemas["PageReading"];

const AT_ONCE = 4;

export interface Outcome<Item> {
  done: Item[];
  failed: { item: Item; error: unknown }[];
}

/** Do the same to each, a few at a time; one that fails stops no other. */
export async function forEach<Item>(
  items: readonly Item[],
  act: (item: Item) => Promise<unknown>,
  onProgress?: (finished: number) => void,
): Promise<Outcome<Item>> {
  const outcome: Outcome<Item> = { done: [], failed: [] };
  let next = 0;
  const work = async () => {
    for (let at = next++; at < items.length; at = next++) {
      const item = items[at] as Item;
      try {
        await act(item);
        outcome.done.push(item);
      } catch (error) {
        outcome.failed.push({ item, error });
      }
      onProgress?.(outcome.done.length + outcome.failed.length);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return outcome;
}

function path(documentId: string) {
  return { ...organizationPath(), document_id: documentId };
}

function setTags(documentId: string, tagIds: readonly string[]) {
  return answered(
    api.PUT("/v0/orgs/{organization_id}/documents/{document_id}", {
      params: { path: path(documentId) },
      body: { tag_ids: [...tagIds] },
    }),
  );
}

/** The web address of the original; an empty one takes it away. */
export function changeSourceUrl(documentId: string, address: string) {
  return answered(
    api.PUT("/v0/orgs/{organization_id}/documents/{document_id}", {
      params: { path: path(documentId) },
      body: { source_url: address },
    }),
  );
}

/** Key by key: what another person set meanwhile under other names stays. Null takes a key out. */
export async function changeMetadata(documentId: string, changes: MetadataChanges): Promise<void> {
  const outcome = await changeMany({ ids: [documentId] }, { metadata: changes }, () => undefined);
  if (outcome.error) throw outcome.error;
  const [refusal] = outcome.refused;
  if (refusal) throw new Error(refusal.detail);
}

/** Tags are sent as a whole: what another person changed meanwhile is read first. */
export async function changeTag(documentId: string, tagId: string, isOn: boolean) {
  const { tag_ids: present } = await answered(
    api.GET("/v0/orgs/{organization_id}/documents/{document_id}", { params: { path: path(documentId) } }),
  );
  if (present.includes(tagId) === isOn) return;
  await setTags(documentId, isOn ? [...present, tagId] : present.filter((id) => id !== tagId));
}

export function deleteDocument(documentId: string) {
  return answered(api.DELETE("/v0/orgs/{organization_id}/documents/{document_id}", { params: { path: path(documentId) } }));
}

export function extractAgain(documentId: string, readPages?: PageReading) {
  return answered(
    api.POST("/v0/orgs/{organization_id}/documents/{document_id}/extract", {
      params: { path: path(documentId) },
      headers: idempotencyKey(),
      ...(readPages && { body: { read_pages: readPages } }),
    }),
  );
}

export function givePassword(documentId: string, password: string) {
  return answered(
    api.POST("/v0/orgs/{organization_id}/documents/{document_id}/password", {
      params: { path: path(documentId) },
      body: { password },
    }),
  );
}

/** Run what was given up for the document again: its indexing, in every knowledge base. */
export function replayJobs(documentId: string) {
  return answered(
    api.POST("/v0/orgs/{organization_id}/jobs/replay", {
      params: { path: organizationPath() },
      headers: idempotencyKey(),
      body: { document_id: documentId, all: false },
    }),
  );
}

export async function download(document: Pick<Document, "document_id" | "document_name">): Promise<void> {
  if (session.current() === null) return;
  saveFile(await original(document.document_id), document.document_name);
}
