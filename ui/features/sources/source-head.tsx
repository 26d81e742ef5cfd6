"use client";

import { Play, PlugZap, Trash2 } from "lucide-react";
import { parseAsString, useQueryState } from "nuqs";
import { useState } from "react";

import { May } from "@/components/may";
import { PageHead } from "@/components/page-head";
import { State } from "@/components/state";
import { Button } from "@/components/ui/button";
import { useMay } from "@/state/permissions";
import { useWayBack } from "@/state/list-place";

import { ExportMenu } from "./export-menu";
import { DeleteDialog } from "./delete-dialog";
import { isLive, isPushOnly, type Source } from "./queries";
import { SignInButton } from "./sign-in-button";
import { SourceTestDialog } from "./test-dialog";
import { useRuns } from "./use-runs";
import { runState, scheduleWords } from "./words";

/** The list, as it was left. */
export function useParent() {
  const { href, take } = useWayBack("/sources/");
  return { href, label: "Sources", onFollow: take };
}

/** Name, state and actions of a source. */
export function SourceHead({ source }: { source: Source }) {
  const parent = useParent();
  const [isDeleting, setDeleting] = useState(false);
  const [testing, setTesting] = useQueryState("test", parseAsString);
  const mayTest = useMay("test_source");
  const isPushed = isPushOnly(source);
  const state = source.last_run
    ? runState(source.last_run)
    : { tone: "absent" as const, label: isPushed ? "Nothing pushed yet" : "Not run yet" };
  return (
    <PageHead
      title={source.name}
      parent={parent}
      aside={
        <span className="flex items-center gap-3 max-md:basis-full">
          <State tone={state.tone}>{state.label}</State>
          {!isPushed && <span className="text-text-3">{scheduleWords(source.interval_seconds)}</span>}
        </span>
      }
    >
      {!isPushed && <RunButtons source={source} />}
      <SignInButton source={source} />
      {!isPushed && (
        <May to="test_source">
          <Button onClick={() => void setTesting("1")}>
            <PlugZap aria-hidden size={14} /> <span className="max-md:sr-only">Test connection</span>
          </Button>
        </May>
      )}
      <May to="download_source">
        <ExportMenu source={source} />
      </May>
      <May to="delete_source">
        <Button isIcon className="text-failed" aria-label="Delete the source" title="Delete" onClick={() => setDeleting(true)}>
          <Trash2 aria-hidden size={14} />
        </Button>
      </May>
      {testing !== null && mayTest && <SourceTestDialog source={source} onClose={() => void setTesting(null)} />}
      {isDeleting && <DeleteDialog source={source} parent={parent} onClose={() => setDeleting(false)} />}
    </PageHead>
  );
}

function RunButtons({ source }: { source: Source }) {
  const { start } = useRuns(source.source_id);
  const isBusy = start.isPending || isLive(source.last_run);
  return (
    <May to="run_source">
      <Button variant="primary" disabled={isBusy} onClick={() => start.mutate({})}>
        <Play aria-hidden size={14} /> Run now
      </Button>
      <Button disabled={isBusy} title="List and compare, and change nothing" onClick={() => start.mutate({ dry_run: true })}>
        Dry run
      </Button>
      {source.tells_changes && (
        <Button
          disabled={isBusy}
          title="List all items, although the source tells its changes"
          onClick={() => start.mutate({ full: true })}
        >
          Run everything again
        </Button>
      )}
    </May>
  );
}
