"use client";

import type { Document } from "@/api/queries";
import { Dialog } from "@/components/dialog";
import { plural } from "@/lib/format";

import type { Outcome } from "./actions";

/** Which documents an action did not reach, and why. */
export function FailedDialog({ failed, onClose }: { failed: Outcome<Document>["failed"]; onClose: () => void }) {
  return (
    <Dialog
      open={failed.length > 0}
      onOpenChange={(isOpen) => !isOpen && onClose()}
      title={`${plural(failed.length, "document")} not changed`}
    >
      <ul className="flex flex-col gap-2">
        {failed.map(({ item, error }) => (
          <li key={item.document_id}>
            <div className="font-medium break-words">{item.document_name}</div>
            <div className="break-words text-failed">{error instanceof Error ? error.message : "An unexpected error."}</div>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
