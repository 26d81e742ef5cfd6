"use client";

import { useQuery } from "@tanstack/react-query";
import Link from "next/link";
import { parseAsString, useQueryState } from "nuqs";

import { answered, api, idempotencyKey, organizationPath } from "@/api/client";
import type { KnowledgeBase } from "@/api/queries";
import { ErrorState } from "@/components/feedback";
import { ReconcileRuns } from "@/components/reconcile-runs";

import { reconcileRunsQuery } from "./queries";

/** Whether the knowledge base is as it should be: runs that looked, what they found, and having one look now. */
export function BaseHealth({ base }: { base: KnowledgeBase }) {
  const [chosen, setChosen] = useQueryState("run", parseAsString.withOptions({ history: "push" }));
  const { data, error, refetch } = useQuery(reconcileRunsQuery(base.kb_id));
  if (error && !data) return <ErrorState error={error} retry={() => void refetch()} />;
  return (
    <ReconcileRuns
      label="Health"
      operation="create_knowledge_base_reconcile_run"
      explanation="Compares every vector, file and text with the expected state."
      runs={data?.runs}
      chosen={chosen}
      empty={{
        title: "Not checked yet",
        text: (
          <>
            All knowledge bases are checked regularly. Problems that were found are listed in the{" "}
            <Link href="/operations/?tab=reports" className="text-link underline">
              reports
            </Link>
            .
          </>
        ),
      }}
      start={(isDry) =>
        answered(
          api.POST("/v0/orgs/{organization_id}/knowledge-bases/{kb_id}/reconcile", {
            params: { path: { ...organizationPath(), kb_id: base.kb_id } },
            body: { depth: "full", dry_run: isDry, rebuild_cache: false },
            headers: idempotencyKey(),
          }),
        )
      }
      onShow={(runId) => void setChosen(runId)}
      onStarted={(runId) => void setChosen(runId)}
    />
  );
}
