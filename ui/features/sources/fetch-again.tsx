"use client";

import { useRouter } from "next/navigation";

import { May } from "@/components/may";
import { Button } from "@/components/ui/button";

import { useRuns } from "./use-runs";

/** A button that fetches one item again, whatever its version, and opens that run. */
export function FetchAgain({
  sourceId,
  externalId,
  name,
  isBusy,
}: {
  sourceId: string;
  externalId: string;
  name: string;
  /** A run of the source is unfinished: another cannot start. */
  isBusy: boolean;
}) {
  const router = useRouter();
  const { start } = useRuns(sourceId);
  return (
    <May to="run_source">
      <Button
        variant="quiet"
        size="small"
        aria-label={`Fetch again: ${name}`}
        disabled={isBusy || start.isPending}
        onClick={() =>
          start.mutate(
            { external_ids: [externalId] },
            { onSuccess: (run) => router.push(`/sources/run/?source=${sourceId}&id=${run.source_run_id}`) },
          )
        }
      >
        Fetch again
      </Button>
    </May>
  );
}
