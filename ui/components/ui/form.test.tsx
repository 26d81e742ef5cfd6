import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";
import * as z from "zod/mini";

import { ApiError } from "@/api/errors";
import { required, typedNumber } from "@/lib/checks";

import { FieldProblem, Form, FormFailure, showFailure, TextField, useSchemaForm } from "./form";

afterEach(cleanup);

const SCHEMA = z.object({
  name: required("Enter a name."),
  limits: z.array(z.object({ calls: typedNumber("Enter 1 or more.", { least: 1, isOptional: true }) })),
  tag_ids: z.array(z.string()),
});

function Sample({ onSubmit, failure }: { onSubmit: (values: z.infer<typeof SCHEMA>) => void; failure?: Error }) {
  const form = useSchemaForm(SCHEMA, { name: "", limits: [{ calls: "" }], tag_ids: ["a", "b"] });
  return (
    <Form
      form={form}
      onSubmit={(values) => {
        onSubmit(values);
        if (failure) showFailure(form, failure, { title: "name" });
      }}
    >
      <FormFailure control={form.control} note="Your changes are still here." />
      <TextField control={form.control} name="name" label="Name" />
      <TextField control={form.control} name="limits.0.calls" label="Calls" type="number" />
      <FieldProblem control={form.control} name="tag_ids" />
      <button type="submit">Save</button>
    </Form>
  );
}

const refused = (...errors: { field: string; reason: string }[]) =>
  new ApiError(422, { detail: "The request is not valid.", errors }, null);
const save = () => userEvent.click(screen.getByRole("button", { name: "Save" }));
const type = (label: string, text: string) => userEvent.type(screen.getByRole(label === "Calls" ? "spinbutton" : "textbox"), text);
const alerts = () => screen.queryAllByRole("alert").map((alert) => alert.textContent.trim());

describe("a form with a schema", () => {
  it("submits valid values only, shows problems at their fields and moves the cursor to the first", async () => {
    const onSubmit = vi.fn();
    render(<Sample onSubmit={onSubmit} />);
    await type("Calls", "0");
    await save();
    expect(alerts()).toEqual(["Enter a name.", "Enter 1 or more."]);
    expect(document.activeElement).toBe(screen.getByRole("textbox"));
    expect(screen.getByRole("textbox").getAttribute("aria-invalid")).toBe("true");
    expect(onSubmit).not.toHaveBeenCalled();
    await type("Name", "Contracts");
    await type("Calls", "{Backspace}5");
    expect(alerts()).toEqual([]);
    await save();
    expect(onSubmit).toHaveBeenCalledWith({ name: "Contracts", limits: [{ calls: "5" }], tag_ids: ["a", "b"] });
  });

  it("shows the server's sentences at their fields, inside lists too, until the field changes", async () => {
    const failure = refused({ field: "title", reason: "Is taken." }, { field: "limits[0].calls", reason: "Is too many." });
    render(<Sample onSubmit={() => undefined} failure={failure} />);
    await type("Name", "Contracts");
    await type("Calls", "9");
    await save();
    expect(alerts()).toEqual(["Is taken.", "Is too many."]);
    expect(screen.getByRole("textbox")).toHaveProperty("value", "Contracts");
    await type("Name", " 2");
    expect(alerts()).toEqual(["Is too many."]);
  });

  it("shows the server's sentence on one item below the list", async () => {
    render(<Sample onSubmit={() => undefined} failure={refused({ field: "tag_ids[1]", reason: "No such tag." })} />);
    await type("Name", "Contracts");
    await save();
    expect(alerts()).toEqual(["No such tag."]);
  });

  it("shows a failure that belongs to no field above the fields, until the next attempt", async () => {
    render(<Sample onSubmit={() => undefined} failure={refused({ field: "elsewhere", reason: "Is wrong." })} />);
    await type("Name", "Contracts");
    await save();
    expect(alerts()).toEqual(["The request is not valid. Your changes are still here."]);
    expect(screen.getByRole("textbox")).toHaveProperty("value", "Contracts");
  });
});
