import { beforeEach, describe, expect, it, vi } from "vitest";

import { addFiles, changeDraft, closeTray, draftOf, folderOf, progressOf, sendDraft, useUploads } from "./uploads";

// The hook reads the state once; nothing is rendered here.
vi.mock("react", () => ({ useSyncExternalStore: (_subscribe: unknown, read: () => unknown) => read() }));

const chosen = (name: string) => ({ file: new File(["text"], name), path: null });

describe("upload batches", () => {
  beforeEach(() => {
    // Requests that never end: what counts here is what they were given.
    vi.stubGlobal(
      "XMLHttpRequest",
      class {
        upload = { addEventListener: () => undefined };
        open = () => undefined;
        setRequestHeader = () => undefined;
        addEventListener = () => undefined;
        send = () => undefined;
      },
    );
    vi.stubGlobal("sessionStorage", { getItem: () => null });
  });

  it("keep their options when the next one is chosen, which begins without", () => {
    addFiles([chosen("a.txt")]);
    changeDraft({ tagIds: ["engineering"], policy: "replace" });
    sendDraft();
    addFiles([chosen("b.txt")]);
    expect(draftOf(useUploads())).toMatchObject({ tagIds: [], policy: "return" });
    changeDraft({ tagIds: ["people"] });
    expect(useUploads().batches.map(({ tagIds, policy }) => [tagIds, policy])).toEqual([
      [["engineering"], "replace"],
      [["people"], "return"],
    ]);
    closeTray();
    expect(progressOf(useUploads())).toMatchObject({ chosen: 1, under: 1 });
  });
});

describe("a chosen file's folder", () => {
  it("is its path without its name", () => {
    expect(folderOf("contracts/2024/a.pdf")).toBe("contracts/2024");
    expect(folderOf("a.pdf")).toBeNull();
  });
});
