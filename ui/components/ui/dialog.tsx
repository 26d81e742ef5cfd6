"use client";

import { X } from "lucide-react";
import { Dialog as Primitive } from "radix-ui";
import { useRef, useState } from "react";

import { Button, buttonClass } from "./button";
import { Field, Input } from "./field";

const OVERLAY = "fixed inset-0 z-40 bg-[rgb(8_10_14/45%)]";

/**
 * Return the focus to where it was when the dialog opened. Radix returns it to a trigger only, and dialogs here have none:
 * without this, the keyboard begins again at the top of the page.
 */
function useFocusReturn() {
  const before = useRef<Element | null>(null);
  return {
    onOpenAutoFocus: () => {
      before.current = document.activeElement;
    },
    onCloseAutoFocus: (event: Event) => {
      event.preventDefault();
      if (before.current instanceof HTMLElement) before.current.focus();
    },
  };
}

/** A dialog; a full sheet on a phone. */
export function Dialog({
  open,
  onOpenChange,
  title,
  description,
  children,
  footer,
  wide = false,
}: {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  description?: React.ReactNode;
  children?: React.ReactNode;
  footer?: React.ReactNode;
  wide?: boolean;
}) {
  const focusReturn = useFocusReturn();
  return (
    <Primitive.Root open={open} onOpenChange={onOpenChange}>
      <Primitive.Portal>
        <Primitive.Overlay className={OVERLAY} />
        <Primitive.Content
          className={`layer appear fixed inset-0 z-50 flex flex-col overflow-hidden md:inset-auto md:top-[12vh] md:left-1/2 md:max-h-[76vh] md:w-full md:-translate-x-1/2 md:rounded-xl max-md:rounded-none ${wide ? "md:max-w-[720px]" : "md:max-w-[480px]"}`}
          {...focusReturn}
          {...(description ? {} : { "aria-describedby": undefined })}
        >
          <div className="flex items-start gap-3 px-5 pt-4 pb-2">
            <Primitive.Title className="min-w-0 flex-1 text-lg font-semibold break-words">{title}</Primitive.Title>
            <Primitive.Close className={buttonClass({ variant: "quiet", isIcon: true }, "-mt-1 -mr-2")} aria-label="Close">
              <X aria-hidden size={16} />
            </Primitive.Close>
          </div>
          <div className="min-h-0 flex-1 overflow-y-auto px-5 pb-4">
            {description && (
              <Primitive.Description asChild>
                <div className="mb-3 text-base break-words text-text-2">{description}</div>
              </Primitive.Description>
            )}
            {children}
          </div>
          {footer && <div className="flex flex-wrap justify-end gap-2 border-t border-line px-5 py-3">{footer}</div>}
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  );
}

/** A dialog whose title only screen readers hear, without head and foot. */
export function BareDialog({
  open,
  onOpenChange,
  title,
  className,
  children,
}: {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  className: string;
  children: React.ReactNode;
}) {
  const focusReturn = useFocusReturn();
  return (
    <Primitive.Root open={open} onOpenChange={onOpenChange}>
      <Primitive.Portal>
        <Primitive.Overlay className={OVERLAY} />
        <Primitive.Content
          {...focusReturn}
          aria-describedby={undefined}
          className={`layer appear fixed z-50 overflow-hidden rounded-xl ${className}`}
        >
          <Primitive.Title className="sr-only">{title}</Primitive.Title>
          {children}
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  );
}

/** Asks before what cannot be undone; `typed` is what has to be typed where much is at stake. */
export function ConfirmDialog({
  open,
  onOpenChange,
  title,
  children,
  action,
  typed,
  isSafe = false,
  onConfirm,
}: {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  children: React.ReactNode;
  action: string;
  typed?: string;
  /** Nothing is lost by it. */
  isSafe?: boolean;
  onConfirm: () => void;
}) {
  const [text, setText] = useState("");
  const change = (isOpen: boolean) => {
    setText("");
    onOpenChange(isOpen);
  };
  const isAllowed = typed === undefined || text.trim() === typed;
  const confirm = () => {
    if (!isAllowed) return;
    change(false);
    onConfirm();
  };
  return (
    <Dialog
      open={open}
      onOpenChange={change}
      title={title}
      description={children}
      footer={
        <>
          <Button onClick={() => change(false)}>Cancel</Button>
          <Button type="button" variant={isSafe ? "primary" : "danger"} disabled={!isAllowed} onClick={confirm}>
            {action}
          </Button>
        </>
      }
    >
      {typed !== undefined && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            confirm();
          }}
        >
          <Field
            isQuiet
            label={
              <>
                Type <strong className="font-semibold text-text">{typed}</strong> to confirm
              </>
            }
          >
            <Input value={text} onChange={(event) => setText(event.target.value)} autoComplete="off" />
          </Field>
        </form>
      )}
    </Dialog>
  );
}
