import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";

import { ConfirmDialog, Dialog } from "./dialog";

afterEach(cleanup);

const click = (name: string) => userEvent.click(screen.getByRole("button", { name }));

describe("a dialog", () => {
  it("has its title as name, and closes by its button and by Escape", async () => {
    const onOpenChange = vi.fn();
    render(
      <Dialog open onOpenChange={onOpenChange} title="New tag" description="For documents.">
        text
      </Dialog>,
    );
    expect(screen.getByRole("dialog", { name: "New tag", description: "For documents." })).toBeTruthy();
    await click("Close");
    await userEvent.keyboard("{Escape}");
    expect(onOpenChange.mock.calls).toEqual([[false], [false]]);
  });
});

function confirming(typed?: string) {
  const onConfirm = vi.fn();
  const onOpenChange = vi.fn();
  render(
    <ConfirmDialog
      open
      onOpenChange={onOpenChange}
      title="Delete Contracts?"
      action="Delete knowledge base"
      onConfirm={onConfirm}
      {...(typed !== undefined && { typed })}
    >
      This cannot be undone.
    </ConfirmDialog>,
  );
  return { onConfirm, onOpenChange };
}

describe("a question before something is deleted", () => {
  it("does nothing when it is cancelled", async () => {
    const { onConfirm, onOpenChange } = confirming();
    await click("Cancel");
    expect(onOpenChange).toHaveBeenCalledWith(false);
    expect(onConfirm).not.toHaveBeenCalled();
  });

  it("waits until the name is typed, then takes a click or Enter", async () => {
    const { onConfirm } = confirming("Contracts");
    const action = screen.getByRole("button", { name: "Delete knowledge base" });
    expect(action).toHaveProperty("disabled", true);
    await userEvent.type(screen.getByRole("textbox"), "Contract{Enter}");
    expect(onConfirm).not.toHaveBeenCalled();
    await userEvent.type(screen.getByRole("textbox"), "s");
    expect(action).toHaveProperty("disabled", false);
    await userEvent.keyboard("{Enter}");
    expect(onConfirm).toHaveBeenCalledTimes(1);
  });
});
