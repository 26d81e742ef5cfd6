"use client";

import { Dialog } from "@/components/ui/dialog";
import { plural } from "@/lib/format";

export interface Failed {
  id: string;
  name: string;
  reason: string;
}

/** Which documents an action did not reach, and why. */
export function FailedDialog({ failed, onClose }: { failed: readonly Failed[]; onClose: () => void }) {
  return (
    <Dialog
      open={failed.length > 0}
      onOpenChange={(isOpen) => !isOpen && onClose()}
      title={`${plural(failed.length, "document")} not changed`}
    >
      <ul className="flex flex-col gap-2">
        {failed.map(({ id, name, reason }) => (
          <li key={id}>
            <div className="font-medium break-words">{name}</div>
            <div className="break-words text-failed">{reason}</div>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
