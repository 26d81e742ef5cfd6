import { describe, expect, it } from "vitest";

import type { DocumentDetail } from "@/api/queries";

import { documentState, hasLockedParts, lacksPassword, searchableIn } from "./document-state";

type Base = DocumentDetail["knowledge_bases"][number];

function base(state: string, more: Partial<Base> = {}): Base {
  return {
    kb_id: "k",
    name: "Contracts",
    state,
    is_searchable: state === "indexed",
    reason: null,
    error: null,
    progress: null,
    waiting_since: null,
    chunk_count: 0,
    indexed_at: null,
    skipped_flaws: [],
    skipped_word_count: 0,
    ...more,
  };
}

function document(state: string, bases: Base[] = [], more: Partial<DocumentDetail> = {}): DocumentDetail {
  return {
    document_id: "d",
    document_name: "a.pdf",
    origin: null,
    external_identity: null,
    parent_id: null,
    path: null,
    part_count: 0,
    source_url: null,
    state,
    tag_ids: [],
    metadata: {},
    error: null,
    warnings: [],
    read_pages: "auto",
    flaws: [],
    content_type: "application/pdf",
    byte_size: 1,
    sha256: "",
    page_count: 1,
    character_count: 10,
    created_at: "2026-01-01T00:00:00Z",
    updated_at: "2026-01-01T00:00:00Z",
    knowledge_bases: bases,
    ...more,
  };
}

describe("a document's state in words", () => {
  it("tells how far extraction is", () => {
    const found = documentState(document("extracting"), { done: 12, total: 1300 });
    expect(found).toMatchObject({ tone: "working", label: "Extracting 12 of 1,300", isLive: true });
  });

  it("names why it failed, and offers to read it again", () => {
    const error = { code: "encrypted_file", detail: "it needs a password", at: "" };
    expect(documentState(document("failed", [], { error }))).toMatchObject({
      tone: "failed",
      label: "Password needed",
      reason: "it needs a password",
      isLive: false,
      canRetry: true,
    });
  });

  it("asks for a password where it is unknown or wrong, and for nothing else", () => {
    const failed = (code: string) => document("failed", [], { error: { code, detail: "", at: "" } });
    expect(["encrypted_file", "wrong_password", "corrupt_file"].map((code) => lacksPassword(failed(code)))).toEqual([true, true, false]);
    expect(lacksPassword(document("extracting"))).toBe(false);
  });

  it("asks for the password of an archive with encrypted files among others", () => {
    const locked = "1 part was not taken in: 'secret.txt' (needs a password: give the archive its password)";
    expect(hasLockedParts({ ...document("extracted"), warnings: [locked] })).toBe(true);
    expect(hasLockedParts({ ...document("extracted"), warnings: ["1 part was not taken in: 'tool.exe' (a link)"] })).toBe(false);
  });

  it("is failed where one knowledge base failed, though others are ready", () => {
    const bases = [base("indexed"), base("failed", { name: "Leases", reason: "refused" })];
    expect(documentState(document("extracted", bases))).toMatchObject({ tone: "failed", label: "Indexing failed in Leases" });
  });

  it("waits for quota rather than for nothing", () => {
    expect(documentState(document("extracted", [base("waiting_for_quota")]))).toMatchObject({
      label: "Waiting for quota",
      isLive: true,
    });
  });

  it("waits for the provider and says why", () => {
    const held = base("waiting_for_provider", { reason: "HTTP 503" });
    expect(documentState(document("extracted", [held]))).toMatchObject({
      tone: "waiting-for-provider",
      label: "Waiting for the provider",
      reason: "HTTP 503",
      isLive: true,
    });
  });

  it("says that no search finds it where it is in no knowledge base", () => {
    expect(documentState(document("extracted"))).toMatchObject({ tone: "absent", label: "Not in a knowledge base" });
  });

  it("is ready with a warning, and quiet when all is well", () => {
    const warned = document("extracted", [base("indexed")], { warnings: ["page 2 is unclear"] });
    expect(documentState(warned)).toMatchObject({ tone: "warning", label: "Ready, 1 warning" });
    expect(documentState(document("extracted", [base("indexed")]))).toMatchObject({ tone: "ready", label: "Ready", isLive: false });
  });

  it("finds nothing in a document without text, ready or not", () => {
    const empty = document("extracted", [base("empty")], { character_count: 0 });
    expect(documentState(empty)).toMatchObject({ tone: "warning", label: "No text found", isLive: false });
  });
});

it("counts where a document can be found, an older text included", () => {
  const bases = [base("indexed"), base("indexing", { is_searchable: true }), base("waiting")];
  expect(searchableIn(document("extracted", bases))).toBe("2 of 3");
  expect(searchableIn(document("extracted"))).toBe("–");
});
