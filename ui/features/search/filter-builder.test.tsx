import { cleanup, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";

import { FilterBuilder } from "./filter-builder";

afterEach(cleanup);

function open(text = "") {
  const onApply = vi.fn();
  render(<FilterBuilder text={text} onApply={onApply} />);
  return onApply;
}

const click = (name: string) => userEvent.click(screen.getByRole("button", { name }));
const field = (label: string) => screen.getByLabelText<HTMLInputElement>(label, { exact: false });
const alerts = () => screen.queryAllByRole("alert").map((alert) => alert.textContent.trim());

describe("the form of a filter", () => {
  it("applies its conditions, and shows them as JSON and back", async () => {
    const onApply = open();
    await userEvent.type(field("Value 1"), "lease.pdf");
    await click("Add condition");
    await userEvent.clear(field("Field 2"));
    await userEvent.type(field("Field 2"), "metadata.year");
    await userEvent.selectOptions(field("Comparison 2"), "is at least");
    await userEvent.type(field("Value 2"), "2024");
    await click("As JSON");
    const written = { $and: [{ document_name: { $eq: "lease.pdf" } }, { "metadata.year": { $gte: 2024 } }] };
    expect(JSON.parse(field("Filter as JSON").value)).toEqual(written);
    await click("As a form");
    expect(field("Value 2").value).toBe("2024");
    await click("Apply");
    await waitFor(() => expect(onApply).toHaveBeenCalledWith(JSON.stringify(written)));
  });

  it("removes a condition", async () => {
    const onApply = open('{"$and": [{"page": 1}, {"page": 2}]}');
    await click("Remove condition 1");
    await click("Apply");
    await waitFor(() => expect(onApply).toHaveBeenCalledWith('{"page":{"$eq":2}}'));
  });

  it("shows invalid JSON with the reason at its field, and applies nothing", async () => {
    const onApply = open('{"$or": [{"a": 1}]}');
    await userEvent.clear(field("Filter as JSON"));
    await userEvent.type(field("Filter as JSON"), "[[1]");
    await click("Apply");
    await waitFor(() => expect(alerts()).toEqual(["A filter is a JSON object, in braces."]));
    expect(field("Filter as JSON").value).toBe("[1]");
    expect(onApply).not.toHaveBeenCalled();
  });
});
