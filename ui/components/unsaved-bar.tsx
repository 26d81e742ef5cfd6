"use client";

import { useEffect } from "react";

import { Button } from "@/components/ui/button";

/** Stands at the foot of a form that was changed; the browser asks before the page is left. */
export function UnsavedBar({ isSaving, onDiscard, form }: { isSaving: boolean; onDiscard: () => void; form: string }) {
  useEffect(() => {
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, []);
  return (
    <div
      role="region"
      aria-label="Unsaved changes"
      className="flex shrink-0 flex-wrap items-center gap-2 border-t border-line bg-surface px-4 py-2"
    >
      <span className="flex-1 font-medium" role="status">
        Unsaved changes
      </span>
      <Button disabled={isSaving} onClick={onDiscard}>
        Discard
      </Button>
      <Button type="submit" form={form} variant="primary" disabled={isSaving}>
        {isSaving ? "Saving…" : "Save"}
      </Button>
    </div>
  );
}
