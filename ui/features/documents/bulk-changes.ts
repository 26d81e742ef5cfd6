/** The same change of many documents, batch after batch; what the server names as changed is what Undo changes back. */

import { answered, api, idempotencyKey, organizationPath, type Schemas } from "@/api/client";

import { conditionsOf, type DocumentFilter } from "./queries";

export type Change = Partial<Pick<Schemas["DocumentsChange"], "add_tag_ids" | "remove_tag_ids" | "metadata">>;

export type MetadataChanges = NonNullable<Change["metadata"]>;

export type Which = { ids: readonly string[] } | { filter: DocumentFilter; leftOut: readonly string[] };

export interface BulkOutcome {
  changedIds: string[];
  unchangedCount: number;
  refused: Schemas["DocumentRefusal"][];
  /** Where it stopped in the middle; what was changed before stays changed. */
  error: Error | null;
}

const BATCH = 500;

export async function changeMany(which: Which, change: Change, onProgress: (looked: number) => void): Promise<BulkOutcome> {
  const outcome: BulkOutcome = { changedIds: [], unchangedCount: 0, refused: [], error: null };
  try {
    for await (const answer of "ids" in which ? batchesOf(which.ids, change) : batchesMatching(which.filter, which.leftOut, change)) {
      outcome.changedIds.push(...answer.changed_ids);
      outcome.unchangedCount += answer.unchanged_count;
      outcome.refused.push(...answer.refused);
      onProgress(outcome.changedIds.length + outcome.unchangedCount + outcome.refused.length);
    }
  } catch (error) {
    outcome.error = error instanceof Error ? error : new Error(String(error));
  }
  return outcome;
}

async function* batchesOf(ids: readonly string[], change: Change) {
  for (let first = 0; first < ids.length; first += BATCH) {
    yield await send({ ...change, document_ids: ids.slice(first, first + BATCH) });
  }
}

async function* batchesMatching(filter: DocumentFilter, leftOut: readonly string[], change: Change) {
  const { nameSearch, states, fileTypes, tagIds, tagOperator, kbId, errorCode } = filter;
  const conditions = conditionsOf(filter);
  const matching = {
    ...(nameSearch && { name_search: nameSearch }),
    ...(conditions !== null && { metadata_filter: conditions }),
    ...(kbId && { kb_id: kbId }),
    error_code: errorCode ? [errorCode] : [],
    state: states,
    file_type: fileTypes,
    tag_ids: tagOperator === "all" ? tagIds : [],
  };
  let after: string | null = null;
  do {
    const answer: Schemas["DocumentsChanged"] = await send({
      ...change,
      matching,
      except_ids: [...leftOut],
      ...(after !== null && { after }),
    });
    yield answer;
    after = answer.next;
  } while (after !== null);
}

function send(body: Partial<Schemas["DocumentsChange"]>) {
  return answered(
    api.POST("/v0/orgs/{organization_id}/documents/changes", {
      params: { path: organizationPath() },
      headers: idempotencyKey(),
      body,
    }),
  );
}
