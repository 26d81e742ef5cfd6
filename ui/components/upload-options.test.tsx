import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it } from "vitest";

import { session } from "@/state/session";
import { addFiles, changeDraft, discardDraft, draftOf, useUploads } from "@/state/uploads";

import { UploadOptionsForm } from "./upload-options";

afterEach(() => {
  cleanup();
  act(() => discardDraft());
});

const TAG = { tag_id: "t1", name: "contracts", color: "#4488cc" };

function Shown() {
  const draft = draftOf(useUploads());
  return draft && <UploadOptionsForm draft={draft} count={1} tagIndex={new Map([["t1", TAG as never]])} />;
}

function open() {
  session.begin({ organizationId: "acme", token: "aq_test" });
  addFiles([{ file: new File(["One."], "one.txt"), path: null }]);
  changeDraft({ tagIds: ["t1"] });
  const shown = () => (
    <QueryClientProvider client={new QueryClient()}>
      <Shown />
    </QueryClientProvider>
  );
  return { shown, ...render(shown()) };
}

const policy = () => screen.getByLabelText<HTMLSelectElement>("If the file already exists");

describe("the options of an upload", () => {
  it("stay with the batch when the form is closed and opened again", async () => {
    const { unmount, shown } = open();
    await userEvent.selectOptions(policy(), "Replace");
    await userEvent.click(screen.getByRole("button", { name: "Remove tag contracts" }));
    unmount();
    render(shown());
    expect(policy().value).toBe("replace");
    expect(screen.queryByText("contracts")).toBeNull();
  });

  it("are gone with the files that are discarded", async () => {
    open();
    await userEvent.click(screen.getByRole("button", { name: "Discard 1 file" }));
    expect(screen.queryByLabelText("If the file already exists")).toBeNull();
  });
});
