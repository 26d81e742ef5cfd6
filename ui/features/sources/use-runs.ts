"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { toast } from "sonner";

import { sourceKeys } from "@/api/keys";
import { tellFailure } from "@/components/feedback";

import { cancelRun, isLive, type Run, type Source, startRun } from "./queries";

/** Start and cancel runs of a source; lists follow at once. */
export function useRuns(sourceId: string) {
  const client = useQueryClient();
  const renew = () => client.invalidateQueries({ queryKey: sourceKeys.all });
  const start = useMutation({
    mutationFn: (options: Parameters<typeof startRun>[1]) => startRun(sourceId, options),
    onError: (error) => tellFailure("The run was not started", error),
    onSettled: renew,
  });
  const cancel = useMutation({
    mutationFn: (run: Run) => cancelRun(run),
    onSuccess: () => toast("Run cancelled. What it has taken in stays."),
    onError: (error) => tellFailure("The run was not cancelled", error),
    onSettled: renew,
  });
  return { start, cancel };
}

/** Start a run from the page of another one, and show it. */
export function useRestart(source: Source) {
  const router = useRouter();
  const { start } = useRuns(source.source_id);
  return {
    isBusy: start.isPending || isLive(source.last_run),
    start: (options: Parameters<typeof startRun>[1]) =>
      start.mutate(options, {
        onSuccess: (run) => router.push(`/sources/run/?source=${source.source_id}&id=${run.source_run_id}`),
      }),
  };
}
