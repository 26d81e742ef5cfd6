import { describe, expect, it } from "vitest";

import { changesOf, deletesSooner, valuesOf, type Stored } from "./organization-values";

const none = { requests_per_minute: null, tokens_per_minute: null, documents_per_minute: null, models: [] };
const stored: Stored = {
  organization: {
    organization_id: "o",
    name: "Acme",
    cache_scope: "global",
    may_share_cache: true,
    created_at: "2026-01-01T00:00:00Z",
    permission: "owner",
    permission_needed: {},
  },
  retention: { document_days: 30 },
  settings: {
    ocr_languages: null,
    available_ocr_languages: ["eng"],
    rate_limits: none,
    vision: { model: null, describe_figures: false, read_pages: false },
    skipped_flaws: [],
    server: { ocr_languages: ["eng"], rate_limits: none },
  },
};

describe("changes of an organization's settings", () => {
  it("are none where nothing was changed, or changed back", () => {
    expect(changesOf(valuesOf(stored), stored)).toEqual({});
    expect(changesOf({ ...valuesOf(stored), name: " Acme " }, stored)).toEqual({});
  });
  it("name only what differs, and null is as the server says", () => {
    expect(changesOf({ ...valuesOf(stored), document_days: "", ocr_languages: ["eng"] }, stored)).toEqual({
      retention: { document_days: null },
      settings: { ocr_languages: ["eng"] },
    });
  });
  it("send all limits where one differs", () => {
    const values = valuesOf(stored);
    const changed = changesOf({ ...values, rate_limits: { ...values.rate_limits, requests_per_minute: "5" } }, stored);
    expect(changed).toEqual({ settings: { rate_limits: { ...none, requests_per_minute: 5 } } });
  });
  it("send the vision model with its tasks, and no name as none", () => {
    const values = valuesOf(stored);
    const chosen = { model: " gpt-4o-mini ", describe_figures: true, read_pages: false };
    expect(changesOf({ ...values, vision: chosen }, stored)).toEqual({ settings: { vision: { ...chosen, model: "gpt-4o-mini" } } });
    expect(changesOf({ ...values, vision: { ...values.vision, model: "  " } }, stored)).toEqual({});
  });
  it("delete sooner only where documents are kept for a shorter time", () => {
    const sooner = (days: string) => deletesSooner(changesOf({ ...valuesOf(stored), document_days: days }, stored), stored);
    expect([sooner("7"), sooner("30"), sooner("90"), sooner("")]).toEqual([true, false, false, false]);
  });
});
