import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { answered, api, organizationPath, type Schemas } from "@/api/client";

export type Webhook = Schemas["WebhookResponse"];
export type Delivery = Schemas["WebhookDeliveryResponse"];
export type EventType = Schemas["WebhookEventType"];

export const webhookKeys = {
  all: ["webhooks"] as const,
  list: ["webhooks", "list"] as const,
  deliveriesOf: (webhookId: string) => ["webhooks", "deliveries", webhookId] as const,
  deliveries: (webhookId: string, state: string, skip: number) => ["webhooks", "deliveries", webhookId, state, skip] as const,
};

export const DELIVERIES_A_PAGE = 20;
/** Attempts follow one another in seconds; nobody watches for longer than a minute. */
const REFRESH_MILLISECONDS = 5_000;

/** Types that can be chosen, with the words for people. */
export const EVENT_TYPES: readonly { type: EventType; label: string }[] = [
  { type: "document.extracted", label: "Document extracted" },
  { type: "document.indexed", label: "Document indexed" },
  { type: "document.failed", label: "Document failed" },
  { type: "document.removed", label: "Document deleted" },
  { type: "knowledge_base.active", label: "Knowledge base active" },
  { type: "knowledge_base.failed", label: "Knowledge base in error" },
  { type: "prompt_run.finished", label: "Prompt run finished" },
  { type: "source_run.finished", label: "Source run finished" },
  { type: "quota.near", label: "Quota nearly used" },
  { type: "quota.reached", label: "Quota used" },
  { type: "drift.repaired", label: "Inconsistency repaired" },
];

export function webhooksQuery() {
  return queryOptions({
    queryKey: webhookKeys.list,
    queryFn: ({ signal }) =>
      answered(api.GET("/v0/orgs/{organization_id}/webhooks", { params: { path: organizationPath(), query: { limit: 100 } }, signal })),
    refetchInterval: REFRESH_MILLISECONDS,
  });
}

export function deliveriesQuery(webhookId: string, state: Schemas["DeliveryState"] | "", skip: number) {
  return queryOptions({
    queryKey: webhookKeys.deliveries(webhookId, state, skip),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/webhooks/{webhook_id}/deliveries", {
          params: {
            path: { ...organizationPath(), webhook_id: webhookId },
            query: { skip, limit: DELIVERIES_A_PAGE, ...(state && { state }) },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MILLISECONDS,
  });
}
