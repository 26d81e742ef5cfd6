import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";

import { MetadataDialog } from "./metadata-dialog";
import { declaredFieldsQuery } from "./queries";

afterEach(cleanup);

function open(present: Record<string, unknown>, error: string | null = null) {
  const client = new QueryClient({ defaultOptions: { queries: { enabled: false } } });
  const [onSave, onClose] = [vi.fn(), vi.fn()];
  const dialog = (refusal: string | null) => (
    <QueryClientProvider client={client}>
      <MetadataDialog
        title="Metadata"
        description="Of a document"
        present={present}
        action="Save"
        error={refusal}
        isBusy={false}
        onSave={onSave}
        onClose={onClose}
      />
    </QueryClientProvider>
  );
  const { rerender } = render(dialog(error));
  const declare = async (fields: Record<string, "number" | "date">) => {
    client.setQueryData(declaredFieldsQuery().queryKey, fields);
    await waitFor(() => expect(screen.getByRole("button", { name: "Save" })).toHaveProperty("disabled", false));
  };
  return { onSave, onClose, declare, refuse: (refusal: string) => rerender(dialog(refusal)) };
}

const field = (label: string) => screen.getByLabelText<HTMLInputElement>(label);
const click = (name: string) => userEvent.click(screen.getByRole("button", { name }));
const alerts = () => screen.queryAllByRole("alert").map((alert) => alert.textContent.trim());

describe("the dialog of metadata", () => {
  it("names each problem at its field and saves nothing", async () => {
    const { onSave, declare } = open({ year: 2023 });
    await declare({});
    await userEvent.clear(field("Value of year"));
    await click("Add a field");
    await click("Save");
    await waitFor(() => expect(alerts()).toEqual(["Enter a number.", "Enter a name."]));
    expect(field("Value of year").getAttribute("aria-invalid")).toBe("true");
    expect(field("Name of new field").getAttribute("aria-invalid")).toBe("true");
    await userEvent.type(field("Name of new field"), "year");
    await click("Save");
    await waitFor(() => expect(alerts()).toEqual(["Enter a number.", "Another field has this name."]));
    expect(onSave).not.toHaveBeenCalled();
  });

  it("sends what changed, and null for what was removed", async () => {
    const { onSave, declare } = open({ year: 2023, draft: true });
    await declare({});
    await click("Remove draft");
    await click("Add a field");
    await userEvent.type(field("Name of new field"), "customer");
    await userEvent.type(field("Value of customer"), "Acme");
    await click("Save");
    await waitFor(() => expect(onSave).toHaveBeenCalledWith({ customer: "Acme", draft: null }));
  });

  it("closes where nothing changed", async () => {
    const { onSave, onClose, declare } = open({ year: 2023 });
    await declare({});
    await click("Save");
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    expect(onSave).not.toHaveBeenCalled();
  });

  it("takes the declared type, also when it becomes known after the name was typed", async () => {
    const { onSave, declare } = open({});
    await userEvent.type(field("Name of new field"), "amount");
    await userEvent.type(field("Value of amount"), "12.5");
    await declare({ amount: "number" });
    await waitFor(() => expect(field("Type of amount").value).toBe("number"));
    await click("Save");
    await waitFor(() => expect(onSave).toHaveBeenCalledWith({ amount: 12.5 }));
  });

  it("keeps what was typed when it is refused", async () => {
    const { declare, refuse } = open({ year: 2023 });
    await declare({});
    await userEvent.type(field("Value of year"), "4");
    refuse("The document was deleted.");
    expect(alerts()).toEqual(["The document was deleted."]);
    expect(field("Value of year").value).toBe("20234");
  });
});
