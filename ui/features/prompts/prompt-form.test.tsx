import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";

import { api } from "@/api/client";
import { ApiError } from "@/api/errors";
import { session } from "@/state/session";

import { bodyOf, type Draft, EMPTY_DRAFT } from "./draft";
import { PromptForm } from "./prompt-form";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

function open(initial: Partial<Draft> = {}) {
  session.begin({ organizationId: "acme", token: "aq_test" });
  vi.spyOn(api, "GET").mockReturnValue(new Promise(() => undefined));
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const [onChange, onSave] = [vi.fn<(draft: Draft) => void>(), vi.fn<(draft: Draft) => void>()];
  const written = { ...EMPTY_DRAFT, ...initial };
  const form = (error: Error | null) => (
    <QueryClientProvider client={client}>
      <PromptForm initial={written} error={error} isSaving={false} onChange={onChange} onSave={onSave} runsWord="Also run it">
        <button type="submit">Save</button>
      </PromptForm>
    </QueryClientProvider>
  );
  const { rerender } = render(form(null));
  const refuse = (...errors: { field: string; reason: string }[]) =>
    rerender(form(new ApiError(422, { detail: "The request is not valid.", errors }, null)));
  return { onChange, onSave, refuse };
}

const SCHEMA = JSON.stringify({
  type: "object",
  properties: { days: { type: "integer" }, source: { type: "string" } },
  additionalProperties: false,
});
const FULL = { name: "Notice", text: "How much notice?", answer_schema: SCHEMA, tag_ids: ["t1"], kb_id: "k1" };
const field = (label: string) => {
  const [first] = screen.getAllByLabelText<HTMLInputElement>(label, { exact: false, selector: "input, textarea" });
  if (!first) throw new Error(`No field is called ${label}.`);
  return first;
};
const click = (name: string) => userEvent.click(screen.getByRole("button", { name }));
const alerts = () => screen.queryAllByRole("alert").map((alert) => alert.textContent.trim());

describe("the form of a prompt", () => {
  it("names each problem at its field and saves nothing", async () => {
    const { onSave } = open({ kb_id: "k1", metadata_filter: "[1]" });
    await userEvent.clear(field("Rounds"));
    await userEvent.type(field("Temperature"), "3");
    await userEvent.type(field("Token budget"), "99");
    await click("Save");
    const found = [
      "Enter a name.",
      "Enter the instructions.",
      'A filter is a JSON object, such as {"document_name": {"$eq": "prices.xlsx"}}.',
      "Enter a whole number from 1 to 20.",
      "Enter a number from 0 to 2.",
      "Enter a whole number from 100 to 100,000,000.",
    ];
    await waitFor(() => expect(alerts()).toEqual(found));
    expect(field("Search filter").value).toBe("[1]");
    expect(field("Rounds").getAttribute("aria-invalid")).toBe("true");
    expect(onSave).not.toHaveBeenCalled();
  });

  it("saves what was typed, and tells of each change", async () => {
    const { onChange, onSave } = open(FULL);
    await userEvent.type(field("SPU budget"), "7");
    await userEvent.click(screen.getByRole("checkbox", { name: /Also run it/ }));
    await click("Save");
    await waitFor(() => expect(onSave).toHaveBeenCalled());
    const saved = onSave.mock.calls[0]?.[0] ?? EMPTY_DRAFT;
    expect(saved.runs_on_existing).toBe(true);
    expect(bodyOf(saved)).toMatchObject({ name: "Notice", spu_budget: 7, tag_ids: ["t1"], kb_id: "k1", metadata_filter: null });
    expect(onChange.mock.lastCall?.[0]).toMatchObject({ ...FULL, spu_budget: "7" });
  });

  it("shows refusals at their fields, inside the schema, filter and tags too, and keeps what was typed", async () => {
    const { refuse } = open(FULL);
    await userEvent.type(field("Name"), " of leave");
    await click("Save");
    refuse(
      { field: "answer_schema.properties.days.minimum", reason: "The minimum must be a number." },
      { field: "metadata_filter.page", reason: "The page must be a number." },
      { field: "tag_ids[0]", reason: "No such tag." },
    );
    const found = [
      "The answer schema is not valid. The problems are shown below. Your entries are still here.",
      "The minimum must be a number.",
      "No such tag.",
      "The page must be a number.",
    ];
    await waitFor(() => expect(alerts()).toEqual(found));
    expect(field("Name").value).toBe("Notice of leave");
    expect(field("Field name").getAttribute("aria-invalid")).toBe("true");
  });

  it("shows a refusal that belongs to no field above the fields", async () => {
    const { refuse } = open(FULL);
    refuse({ field: "elsewhere", reason: "Is wrong." });
    await waitFor(() => expect(alerts()).toEqual(["The request is not valid. Your entries are still here."]));
  });
});

describe("the builder of an answer's schema", () => {
  it("tells of fields that cannot be saved as they stand, and of untouched ones when saving", async () => {
    const { onSave } = open({ name: "Notice", text: "How much notice?" });
    await userEvent.click(screen.getByRole("radio", { name: "Fields" }));
    expect(alerts()).toEqual([]);
    await click("Save");
    await waitFor(() => expect(alerts()).toEqual(["Enter a field name.", "Not saved. Enter a field name."]));
    await userEvent.type(field("Field name"), "days");
    await waitFor(() => expect(alerts()).toEqual([]));
    await userEvent.selectOptions(screen.getByLabelText("Type"), "choice");
    await waitFor(() => expect(alerts()).toEqual(["Enter at least one choice.", "Not saved. Enter at least one choice."]));
    expect(onSave).not.toHaveBeenCalled();
    await userEvent.type(field("Choices"), "30{Enter}60");
    await click("Save");
    await waitFor(() => expect(onSave).toHaveBeenCalled());
    expect(bodyOf(onSave.mock.calls[0]?.[0] ?? EMPTY_DRAFT).answer_schema).toEqual({
      type: "object",
      properties: { days: { type: "string", enum: ["30", "60"] } },
      required: ["days"],
      additionalProperties: false,
    });
  });

  it("shows the schema as JSON, and what is wrong with it", async () => {
    const { onSave } = open(FULL);
    await click("JSON");
    const json = field("JSON schema of an object");
    expect(JSON.parse(json.value)).toEqual(JSON.parse(SCHEMA));
    await userEvent.clear(json);
    await userEvent.type(json, "[[]");
    await click("Save");
    await waitFor(() => expect(alerts()).toEqual(["A schema is a JSON object.", "Not saved. A schema is a JSON object."]));
    expect(json.value).toBe("[]");
    expect(onSave).not.toHaveBeenCalled();
  });
});
