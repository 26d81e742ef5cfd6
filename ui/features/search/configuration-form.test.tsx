import { cleanup, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { afterEach, describe, expect, it, vi } from "vitest";

import { type Configuration, DEFAULT } from "./configuration";
import { ConfigurationForm } from "./configuration-form";

afterEach(cleanup);

function open() {
  const onChange = vi.fn();
  function Shown() {
    const [configuration, setConfiguration] = useState<Configuration>(DEFAULT);
    return (
      <ConfigurationForm
        configuration={configuration}
        onChange={(changed) => {
          onChange(changed);
          setConfiguration(changed);
        }}
      />
    );
  }
  render(<Shown />);
  return onChange;
}

const field = (label: string) => screen.getByLabelText<HTMLInputElement>(label, { exact: false, selector: "input" });
const alerts = () => screen.queryAllByRole("alert").map((alert) => alert.textContent.trim());

describe("the configuration of a search", () => {
  it("changes at once by a choice, and by a number when it is finished", async () => {
    const onChange = open();
    await userEvent.selectOptions(screen.getByLabelText("Find by"), "Vector");
    await waitFor(() => expect(onChange).toHaveBeenLastCalledWith({ ...DEFAULT, mode: "vector" }));
    expect(screen.queryByLabelText("Combine by")).toBeNull();
    await userEvent.clear(field("Results"));
    await userEvent.type(field("Results"), "10");
    expect(onChange).toHaveBeenCalledTimes(1);
    await userEvent.keyboard("{Enter}");
    await waitFor(() => expect(onChange).toHaveBeenLastCalledWith({ ...DEFAULT, mode: "vector", topK: 10 }));
    await userEvent.click(screen.getByRole("checkbox", { name: "Rerank" }));
    await waitFor(() => expect(onChange).toHaveBeenLastCalledWith({ ...DEFAULT, mode: "vector", topK: 10, rerank: true }));
  });

  it("tells of a number out of range at its field, keeps it, and searches on with the others", async () => {
    const onChange = open();
    await userEvent.type(field("Minimum relevance"), "2");
    await userEvent.tab();
    await waitFor(() => expect(alerts()).toEqual(["Enter a number from 0 to 1."]));
    await userEvent.type(field("Neighbours"), "1");
    await userEvent.tab();
    await waitFor(() => expect(onChange).toHaveBeenCalledWith({ ...DEFAULT, neighbours: 1 }));
    expect(field("Minimum relevance").value).toBe("2");
    expect(alerts()).toEqual(["Enter a number from 0 to 1."]);
    expect(onChange).toHaveBeenCalledTimes(1);
  });
});
