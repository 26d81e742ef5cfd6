import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";

import { ApiError } from "@/api/errors";
import { tagIndexQuery } from "@/api/queries";
import { Form, FormFailure, showFailure, TextField, useSchemaForm } from "@/components/ui/form";

import { BaseFields, type BaseValues, bodyOf, CREATE_SCHEMA, valuesOf } from "./base-fields";

afterEach(cleanup);

function CreateForm({ onSubmit, failure }: { onSubmit: (values: BaseValues) => void; failure?: Error }) {
  const form = useSchemaForm(CREATE_SCHEMA, valuesOf(undefined));
  return (
    <Form
      form={form}
      onSubmit={(values) => {
        onSubmit(values);
        if (failure) showFailure(form, failure);
      }}
    >
      <FormFailure control={form.control} />
      <BaseFields control={form.control} tagNote={null} />
      <TextField control={form.control} name="chunk_size" label="Chunk size" />
      <TextField control={form.control} name="chunk_overlap" label="Overlap" />
      <button type="submit">Create</button>
    </Form>
  );
}

function open(failure?: Error) {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: Infinity } } });
  client.setQueryData(tagIndexQuery().queryKey, new Map());
  const onSubmit = vi.fn();
  render(
    <QueryClientProvider client={client}>
      <CreateForm onSubmit={onSubmit} {...(failure && { failure })} />
    </QueryClientProvider>,
  );
  return onSubmit;
}

async function fill(label: string, text: string) {
  const field = screen.getByLabelText(label, { exact: false, selector: "input" });
  await userEvent.clear(field);
  await userEvent.type(field, text);
}

const create = () => userEvent.click(screen.getByRole("button", { name: "Create" }));
const alerts = () => screen.queryAllByRole("alert").map((alert) => alert.textContent.trim());

describe("the form of a knowledge base", () => {
  it("names each problem at its field before anything is sent", async () => {
    const onSubmit = open();
    await fill("Neighbours", "6");
    await fill("Chunk size", "3");
    await fill("Overlap", "0");
    await create();
    expect(alerts()).toEqual(["Enter a name.", "Enter a whole number from 0 to 5.", "Enter a whole number from 4 to 8,192."]);
    expect(onSubmit).not.toHaveBeenCalled();
  });

  it("keeps the overlap below the chunk size", async () => {
    const onSubmit = open();
    await fill("Name", "Contracts");
    await fill("Chunk size", "64");
    await create();
    expect(alerts()).toEqual(["The overlap must be smaller than the chunk size."]);
    await fill("Overlap", "0");
    await create();
    expect(bodyOf(onSubmit.mock.calls[0]?.[0] as BaseValues)).toEqual({
      name: "Contracts",
      description: "",
      tag_ids: [],
      coalesce_neighbors: 0,
    });
  });

  it("keeps what was typed when the server refuses it, and shows the reason at the field", async () => {
    open(new ApiError(409, { detail: "Not created.", errors: [{ field: "name", reason: "The name is taken." }] }, null));
    await fill("Name", "Contracts");
    await create();
    expect(alerts()).toEqual(["The name is taken."]);
    expect(screen.getByLabelText("Name", { exact: false })).toHaveProperty("value", "Contracts");
  });
});
