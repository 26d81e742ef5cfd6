import { describe, expect, it } from "vitest";

import { ApiError } from "@/api/errors";

import type { Source } from "./queries";
import { bodyOf, kindFields, renamedFields, sourceSchema, type SourceValues, valuesOf } from "./source-values";

const KIND = kindFields({
  kind: "wiki",
  title: "Wiki",
  description: "",
  settings_schema: {
    properties: { path: { type: "string" }, spaces: { type: "array", items: { type: "string" } }, drafts: { type: "boolean" } },
    required: ["path"],
  },
  credentials_schema: { properties: { token: { type: "string" } }, required: ["token"] },
  sign_in_redirect_url: null,
});

const SOURCE = {
  name: "Contracts",
  kind: "wiki",
  settings: { path: "/srv", spaces: ["a", "b"], drafts: true },
  has_credentials: true,
  tag_ids: ["t2", "t1"],
  metadata: { team: "legal", year: 2024, code: "007", number: "12", open: true },
  metadata_mapping: { folder: "shelf" },
  filters: { include: ["*.pdf"], exclude: [], max_item_bytes: 1_500_000 },
  when_vanished: "tag",
  vanished_tag_id: "t1",
  interval_seconds: 5400,
} as unknown as Source;

function problemsOf(values: SourceValues): string[] {
  const result = sourceSchema(KIND).safeParse(values);
  return result.success ? [] : result.error.issues.map(({ path }) => path.join("."));
}

describe("the form of a source", () => {
  it("gives back what was stored, and no credentials unless they are replaced", () => {
    const values = valuesOf(KIND, SOURCE);
    expect(values.sends_credentials).toBe(false);
    expect(values.schedule_minutes).toBe("90");
    expect(problemsOf(values)).toEqual([]);
    const { kind: _, has_credentials: __, ...stored } = SOURCE;
    expect(bodyOf(KIND, values)).toEqual({ ...stored, tag_ids: ["t1", "t2"] });
    const replaced = { ...values, sends_credentials: true, credentials: { token: "s3cret" } };
    expect(bodyOf(KIND, replaced).credentials).toEqual({ token: "s3cret" });
  });

  it("names each field that is missing or wrong", () => {
    const empty = valuesOf(KIND);
    expect(problemsOf(empty)).toEqual(["name", "settings.path", "credentials.token"]);
    const wrong: SourceValues = {
      ...valuesOf(KIND, SOURCE),
      schedule: "other",
      schedule_minutes: "0.5",
      max_item_megabytes: "-1",
      vanished_tag_id: null,
      metadata: [{ key: " ", value: "x" }],
      metadata_mapping: [
        { key: "folder", value: "a" },
        { key: "folder ", value: "b" },
      ],
    };
    expect(problemsOf(wrong)).toEqual(["schedule_minutes", "max_item_megabytes", "vanished_tag_id", "metadata", "metadata_mapping"]);
  });

  it("finds the field of each refusal", () => {
    const fields = ["filters.include[0]", "filters.max_item_bytes", "settings.spaces[1]", "metadata.team", "interval_seconds", "elsewhere"];
    const error = new ApiError(422, { errors: fields.map((field) => ({ field, reason: "No." })) }, null);
    expect(Object.values(renamedFields(error))).toEqual(["include", "max_item_megabytes", "settings.spaces", "metadata", "schedule"]);
  });
});
