"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ArrowLeft } from "lucide-react";
import { parseAsInteger, parseAsStringLiteral, useQueryState } from "nuqs";
import { toast } from "sonner";

import { answered, api, organizationPath } from "@/api/client";
import { EmptyState, ErrorState, SkeletonBlock, tellFailure } from "@/components/feedback";
import { Pager } from "@/components/pager";
import { State, type Tone } from "@/components/state";
import { Time } from "@/components/time";
import { Button } from "@/components/ui/button";
import { Select } from "@/components/ui/select";
import { formatMilliseconds, plural } from "@/lib/format";

import { DELIVERIES_A_PAGE, deliveriesQuery, type Delivery, EVENT_TYPES, type Webhook, webhookKeys } from "./queries";
import { WebhookState } from "./webhook-row";

const STATES = ["pending", "delivered", "dead"] as const;
const WORDS: Record<Delivery["state"], { tone: Tone; label: string }> = {
  pending: { tone: "queued", label: "Waiting" },
  delivered: { tone: "ready", label: "Delivered" },
  dead: { tone: "failed", label: "Given up" },
};
const REPLAYED_DAYS = 14;

/** The deliveries of an endpoint with their attempts. */
export function Deliveries({ webhookId, webhook, onBack }: { webhookId: string; webhook: Webhook | undefined; onBack: () => void }) {
  const client = useQueryClient();
  const [page, setPage] = useQueryState("page", parseAsInteger.withDefault(1));
  const [state, setState] = useQueryState("state", parseAsStringLiteral(STATES));
  const skip = (Math.max(1, page) - 1) * DELIVERIES_A_PAGE;
  const { data, error, refetch } = useQuery(deliveriesQuery(webhookId, state ?? "", skip));
  const path = { ...organizationPath(), webhook_id: webhookId };
  const replayFailed = useMutation({
    mutationFn: () =>
      answered(
        api.POST("/v0/orgs/{organization_id}/webhooks/{webhook_id}/replay", {
          params: { path },
          body: { since: new Date(Date.now() - REPLAYED_DAYS * 86_400_000).toISOString() },
        }),
      ),
    onSuccess: async ({ count }) => {
      toast(count === 0 ? "No delivery was given up" : `${plural(count, "delivery", "deliveries")} will be sent again`);
      await client.invalidateQueries({ queryKey: webhookKeys.deliveriesOf(webhookId) });
    },
    onError: (failure) => tellFailure("Nothing was replayed", failure),
  });
  return (
    <div className="flex flex-col">
      <div className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-3">
        <Button variant="quiet" onClick={onBack}>
          <ArrowLeft aria-hidden size={14} /> All endpoints
        </Button>
        <div className="min-w-[200px] flex-1">
          <h2 className="font-semibold break-all">{webhook?.url ?? "Endpoint"}</h2>
          {webhook && <WebhookState webhook={webhook} />}
        </div>
        <Select
          aria-label="State"
          className="w-auto"
          value={state ?? ""}
          onChange={(event) => {
            void setPage(null);
            void setState(STATES.find((each) => each === event.target.value) ?? null);
          }}
        >
          <option value="">All states</option>
          {STATES.map((each) => (
            <option key={each} value={each}>
              {WORDS[each].label}
            </option>
          ))}
        </Select>
        <Button disabled={replayFailed.isPending || !webhook?.is_enabled} onClick={() => replayFailed.mutate()}>
          Replay failed
        </Button>
      </div>
      {error && !data ? (
        <ErrorState error={error} retry={() => void refetch()} />
      ) : !data ? (
        <SkeletonBlock lines={6} />
      ) : data.deliveries.length === 0 ? (
        <EmptyState title="No deliveries">Events appear here when they happen. Send a test event to see one.</EmptyState>
      ) : (
        <ul>
          {data.deliveries.map((delivery) => (
            <DeliveryRow
              key={delivery.delivery_id}
              delivery={delivery}
              webhookId={webhookId}
              isReplayable={webhook?.is_enabled === true && delivery.state !== "pending" && delivery.body !== ""}
            />
          ))}
        </ul>
      )}
      {data && data.total_count > DELIVERIES_A_PAGE && (
        <Pager
          skip={data.skip}
          shown={data.deliveries.length}
          total={data.total_count}
          page={page}
          pageCount={Math.ceil(data.total_count / DELIVERIES_A_PAGE)}
          onPage={(next) => void setPage(next, { history: "push" })}
        />
      )}
    </div>
  );
}

function DeliveryRow({ delivery, webhookId, isReplayable }: { delivery: Delivery; webhookId: string; isReplayable: boolean }) {
  const client = useQueryClient();
  const replay = useMutation({
    mutationFn: () =>
      answered(
        api.POST("/v0/orgs/{organization_id}/webhooks/{webhook_id}/deliveries/{delivery_id}/replay", {
          params: { path: { ...organizationPath(), webhook_id: webhookId, delivery_id: delivery.delivery_id } },
        }),
      ),
    onSettled: () => client.invalidateQueries({ queryKey: webhookKeys.deliveriesOf(webhookId) }),
    onError: (failure) => tellFailure("The delivery was not replayed", failure),
  });
  const { tone, label } = WORDS[delivery.state];
  const last = delivery.attempts.at(-1);
  const title = EVENT_TYPES.find(({ type }) => type === delivery.type)?.label ?? "Test";
  return (
    <li className="flex flex-wrap items-start gap-x-4 gap-y-1 border-b border-line px-4 py-2.5">
      <details className="min-w-[240px] flex-1">
        <summary className="cursor-pointer">
          <span className="font-medium">{title}</span>{" "}
          <span className="text-text-2">
            <Time at={delivery.created_at} />
          </span>
          <span className="block text-text-2 break-words">
            {last ? (last.error ?? `HTTP ${last.status ?? "?"} in ${formatMilliseconds(last.milliseconds)}`) : "Not sent yet"}
          </span>
        </summary>
        <dl className="mt-2 grid grid-cols-[auto_1fr] gap-x-3 gap-y-1 text-xs">
          <dt className="text-text-2">Event id</dt>
          <dd className="font-mono break-all">{delivery.event_id}</dd>
          <dt className="text-text-2">Body</dt>
          <dd className="font-mono break-all">{delivery.body || "Erased: its document was deleted"}</dd>
          {delivery.attempts.map((attempt, index) => (
            <div key={attempt.at} className="contents">
              <dt className="text-text-2">Attempt {delivery.attempt_count - delivery.attempts.length + index + 1}</dt>
              <dd>
                <Time at={attempt.at} />, {attempt.status ? `HTTP ${attempt.status}` : "no answer"},{" "}
                {formatMilliseconds(attempt.milliseconds)}
                {attempt.answer && <pre className="mt-1 max-h-[120px] overflow-auto whitespace-pre-wrap break-all">{attempt.answer}</pre>}
              </dd>
            </div>
          ))}
        </dl>
      </details>
      <div className="w-[150px]">
        <State tone={tone}>{label}</State>
        {delivery.next_attempt_at && delivery.attempt_count > 0 && (
          <div className="text-xs text-text-2">
            Next attempt <Time at={delivery.next_attempt_at} isPlanned />
          </div>
        )}
      </div>
      <Button size="small" disabled={!isReplayable || replay.isPending} onClick={() => replay.mutate()}>
        Replay
      </Button>
    </li>
  );
}
