"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { RotateCw } from "lucide-react";
import Link from "next/link";
import { toast } from "sonner";

import { answered, api, idempotencyKey, organizationPath, type Schemas } from "@/api/client";
import { documentCountsQuery } from "@/api/queries";
import { documentKeys, jobKeys, kbKeys } from "@/api/keys";
import { tellFailure } from "@/components/feedback";
import { Button, ButtonLink } from "@/components/ui/button";
import { failureLabel } from "@/lib/document-state";
import { formatCount, plural } from "@/lib/format";
import { useMay } from "@/state/permissions";

/** Which failed documents to extract again: all of the organization, those with one error, or those of a knowledge base. */
type RetryScope = { error: string } | { kbId: string } | "all";

function body(scope: RetryScope): Schemas["DocumentsRetry"] {
  if (scope === "all") return { all: true };
  return "error" in scope ? { all: false, error_code: scope.error } : { all: false, kb_id: scope.kbId };
}

/** Extract failed documents again and run their failed jobs again. */
function useRetry() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (scope: RetryScope) =>
      answered(
        api.POST("/v0/orgs/{organization_id}/documents/retry", {
          params: { path: organizationPath() },
          body: body(scope),
          headers: idempotencyKey(),
        }),
      ),
    onSuccess: ({ retried }) => toast(`Retrying ${plural(retried, "document")}`),
    onError: (error) => tellFailure("Couldn't retry the documents", error),
    onSettled: () => Promise.all([documentKeys.all, kbKeys.all, jobKeys.all].map((queryKey) => client.invalidateQueries({ queryKey }))),
  });
}

function RetryButton({ scope, label, count }: { scope: RetryScope; label: string; count?: number }) {
  const retry = useRetry();
  if (!useMay("retry_documents")) return null;
  return (
    <Button size="small" aria-label={label} disabled={retry.isPending} onClick={() => retry.mutate(scope)}>
      <RotateCw aria-hidden size={13} /> {count === undefined ? "Retry" : `Retry all ${formatCount(count)}`}
    </Button>
  );
}

/** The documents that failed, by reason: one line and one button for all of a kind. Nothing while none failed. */
export function FailedDocuments() {
  const { data } = useQuery(documentCountsQuery());
  if (!data?.failed) return null;
  return (
    <section aria-label="Failed documents" className="border-b border-line">
      <header className="flex items-center gap-3 bg-failed-bg px-4 py-1.5">
        <h2 className="min-w-0 flex-1 truncate font-semibold text-failed">
          {plural(data.failed, "document")} failed and can't be found by a search
        </h2>
        {data.failures.length > 1 && <RetryButton scope="all" label="Retry all failed documents" count={data.failed} />}
      </header>
      <ul>
        {data.failures.map((failure) => (
          <li key={failure.error_code} className="flex items-center gap-3 px-4 py-1.5">
            <span className="w-10 shrink-0 font-semibold tabular-nums">{formatCount(failure.count)}</span>
            <span className="min-w-0 flex-1">
              <Link
                href={`/documents/?state=failed&error=${encodeURIComponent(failure.error_code)}`}
                className="font-medium hover:underline"
              >
                {failureLabel(failure.error_code)}
              </Link>
              <span className="block truncate text-xs text-text-2" title={failure.detail}>
                {failure.detail}
              </span>
            </span>
            <RetryButton
              scope={{ error: failure.error_code }}
              label={`Retry the documents that failed: ${failureLabel(failure.error_code)}`}
            />
          </li>
        ))}
      </ul>
    </section>
  );
}

type Standing = Pick<Schemas["KnowledgeBaseResponse"], "kb_id" | "document_count" | "failed_document_count" | "empty_document_count">;

/** What keeps documents of a knowledge base from being found, with the way to them and a button for all. */
export function FailedInBase({ base }: { base: Standing }) {
  const failed = base.failed_document_count;
  if (failed === 0) return null;
  const all = failed + base.document_count + base.empty_document_count;
  return (
    <div role="status" className="flex flex-wrap items-center gap-3 border-b border-line bg-failed-bg px-4 py-1.5">
      <span className="min-w-0 flex-1 text-failed">
        {formatCount(failed)} of {plural(all, "document")} failed. A search of this knowledge base doesn't find{" "}
        {failed === 1 ? "it" : "them"}.
      </span>
      <ButtonLink href={`/documents/?state=failed&kb=${base.kb_id}`} size="small">
        Show failed documents
      </ButtonLink>
      <RetryButton scope={{ kbId: base.kb_id }} label="Retry the failed documents of this knowledge base" />
    </div>
  );
}
