import { describe, expect, it } from "vitest";

import { Happenings, type LiveDocument, movesInLists, withDocument, withKnowledgeBase, withProgress } from "./live-patches";

function document(changes: Partial<LiveDocument> = {}): LiveDocument {
  return {
    document_id: "a",
    document_name: "a.pdf",
    origin: null,
    external_identity: null,
    parent_id: null,
    path: null,
    part_count: 0,
    source_url: null,
    state: "extracting",
    tag_ids: [],
    metadata: {},
    error: null,
    warnings: [],
    read_pages: "auto",
    flaws: [],
    content_type: "application/pdf",
    byte_size: 1,
    sha256: "",
    page_count: null,
    character_count: null,
    created_at: "2026-01-01T00:00:00Z",
    updated_at: "2026-01-01T00:00:01Z",
    knowledge_bases: [],
    extraction: null,
    ...changes,
  };
}

const row = ({ knowledge_bases: _bases, extraction: _extraction, ...fields }: LiveDocument) => fields;

describe("withDocument", () => {
  it("changes the row and leaves the others and the page's other fields alone", () => {
    const other = row(document({ document_id: "b" }));
    const held = { documents: [other, row(document())], total_count: 7, skip: 0 };
    const next = withDocument(held, document({ state: "extracted", updated_at: "2026-01-01T00:00:02Z" }));
    expect(next.documents[1]?.state).toBe("extracted");
    expect(next.documents[0]).toBe(other);
    expect(next.total_count).toBe(7);
    expect(next.documents[1]).not.toHaveProperty("extraction");
  });

  it("tells of the row where it stands in its knowledge bases now", () => {
    const base = {
      kb_id: "k",
      name: "K",
      state: "indexed",
      is_searchable: true,
      reason: null,
      error: null,
      progress: null,
      waiting_since: null,
      chunk_count: 1,
      indexed_at: null,
      skipped_flaws: [],
      skipped_word_count: 0,
    };
    const held = { documents: [{ ...row(document()), knowledge_bases: [] }] };
    const next = withDocument(held, document({ knowledge_bases: [base] }));
    expect(next.documents[0]?.knowledge_bases).toEqual([base]);
  });

  it("lets no event undo what a later answer told", () => {
    const held = { documents: [row(document({ state: "extracted", updated_at: "2026-01-01T00:00:09Z" }))] };
    expect(withDocument(held, document())).toBe(held);
  });

  it("leaves pages without it, and answers that are no pages, as they are", () => {
    const held = { documents: [row(document({ document_id: "b" }))] };
    expect(withDocument(held, document())).toBe(held);
    expect(withDocument(12, document())).toBe(12);
    expect(withDocument(undefined, document())).toBe(undefined);
  });
});

describe("withKnowledgeBase", () => {
  it("keeps what only the list knows of a row", () => {
    const held = { knowledge_bases: [{ kb_id: "k", status: "indexing", spus: 4 }] } as never;
    const next = withKnowledgeBase<{ knowledge_bases: unknown[] }>(held, { kb_id: "k", status: "active" } as never);
    expect(next.knowledge_bases).toEqual([{ kb_id: "k", status: "active", spus: 4 }]);
  });
});

describe("movesInLists", () => {
  it("is so for new documents, states, names and tags, not for pages that are read", () => {
    expect(movesInLists(undefined, document())).toBe(true);
    expect(movesInLists(document(), document({ state: "failed" }))).toBe(true);
    expect(movesInLists(document(), document({ tag_ids: ["t"] }))).toBe(true);
    expect(movesInLists(document(), document({ extraction: { done: 3, total: 9, unit: "pages" } }))).toBe(false);
  });
});

describe("withProgress", () => {
  it("counts pages while they are read and forgets them afterwards", () => {
    const reading = withProgress(undefined, document({ extraction: { done: 12, total: 300, unit: "pages" } }));
    expect(reading?.get("a")).toMatchObject({ done: 12, total: 300 });
    expect(withProgress(reading, document({ extraction: { done: 12, total: 300, unit: "pages" } }))).toBe(reading);
    expect(withProgress(reading, document())?.size).toBe(0);
  });
});

describe("Happenings", () => {
  it("sums a while up in one sentence, each document by its last state", () => {
    const happenings = new Happenings();
    for (const id of ["a", "b"]) happenings.note(document({ document_id: id }));
    happenings.note(document({ document_id: "a", state: "extracted", character_count: 4 }));
    happenings.note(document({ document_id: "b", state: "failed" }));
    expect(happenings.summary()).toBe("1 document done, 1 document failed.");
    expect(happenings.summary()).toBe("");
  });

  it("is silent about documents that were done before", () => {
    const happenings = new Happenings();
    happenings.note(document({ state: "extracted", character_count: 4, tag_ids: ["new"] }));
    expect(happenings.summary()).toBe("");
  });
});
