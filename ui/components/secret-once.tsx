"use client";

import { CopyIcon } from "lucide-react";

import { Dialog } from "@/components/dialog";
import { copyText } from "@/components/feedback";

/** Shows a secret the only time that it can be shown, to be copied. */
export function SecretOnce({
  title,
  description,
  label,
  secret,
  onClose,
}: {
  title: string;
  description: string;
  label: string;
  secret: string;
  onClose: () => void;
}) {
  return (
    <Dialog
      open
      onOpenChange={(isOpen) => !isOpen && onClose()}
      title={title}
      description={description}
      footer={
        <button type="button" className="button button-primary" onClick={onClose}>
          Done
        </button>
      }
    >
      <div className="flex gap-2">
        <input className="field font-mono text-xs" readOnly aria-label={label} value={secret} onFocus={(event) => event.target.select()} />
        <button type="button" className="button" onClick={() => void copyText(secret)}>
          <CopyIcon aria-hidden size={14} /> Copy
        </button>
      </div>
    </Dialog>
  );
}
