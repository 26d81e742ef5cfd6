"use client";

import { useRouter } from "next/navigation";
import { useEffect, useState } from "react";

import { ConfirmDialog } from "@/components/ui/dialog";

/** Asks before a link, a reload or closing the tab throws away what was not saved; renders the question. */
export function UnsavedGuard({ isDirty }: { isDirty: boolean }) {
  const router = useRouter();
  const [wanted, setWanted] = useState<string | null>(null);
  useEffect(() => {
    if (!isDirty) return;
    const onLeave = (event: BeforeUnloadEvent) => event.preventDefault();
    const onClick = (event: MouseEvent) => {
      if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>("a[href]") : null;
      if (link === null || link.origin !== location.origin || link.target === "_blank" || link.hasAttribute("download")) return;
      const isHere = link.pathname === location.pathname && link.search === location.search;
      if (isHere) return;
      event.preventDefault();
      event.stopPropagation();
      setWanted(`${link.pathname}${link.search}${link.hash}`);
    };
    window.addEventListener("beforeunload", onLeave);
    // Before the router's own listeners, which would have gone already.
    window.addEventListener("click", onClick, { capture: true });
    return () => {
      window.removeEventListener("beforeunload", onLeave);
      window.removeEventListener("click", onClick, { capture: true });
    };
  }, [isDirty]);
  return (
    <ConfirmDialog
      open={wanted !== null}
      onOpenChange={(isOpen) => !isOpen && setWanted(null)}
      title="Leave without saving?"
      action="Leave without saving"
      onConfirm={() => wanted !== null && router.push(wanted)}
    >
      Your changes to this prompt are not saved.
    </ConfirmDialog>
  );
}
