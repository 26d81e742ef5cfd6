"use client";

import { Button } from "@/components/ui/button";

/** What no page foresaw; most often a part of a version that was replaced while the page was open. */
export default function UnforeseenError({ error }: { error: Error }) {
  return (
    <main className="mx-auto flex max-w-[560px] flex-col items-start gap-3 px-4 py-24" role="alert">
      <h1 className="text-xl font-semibold">This page could not be shown</h1>
      <p className="text-base text-text-2">If the server was updated while the page was open, reload the page. Saved changes are kept.</p>
      <Button variant="primary" onClick={() => location.reload()}>
        Reload page
      </Button>
      <p className="text-xs break-words text-text-3">{error.message}</p>
    </main>
  );
}
