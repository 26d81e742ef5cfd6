"use client";

import { CopyIcon } from "lucide-react";

import { Dialog } from "@/components/ui/dialog";
import { copyText } from "@/components/feedback";
import { Button } from "@/components/ui/button";
import { Input } from "@/components/ui/field";

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
        <Button variant="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <div className="flex gap-2">
        <Input className="font-mono text-xs" readOnly aria-label={label} value={secret} onFocus={(event) => event.target.select()} />
        <Button onClick={() => void copyText(secret)}>
          <CopyIcon aria-hidden size={14} /> Copy
        </Button>
      </div>
    </Dialog>
  );
}
