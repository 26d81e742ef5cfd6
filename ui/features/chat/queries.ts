import { queryOptions } from "@tanstack/react-query";

import { answered, api, organizationPath, type Schemas } from "@/api/client";
import { modelKeys } from "@/api/keys";
import { passageHref } from "@/components/viewer/passage";

export type Thread = Schemas["ChatThreadResponse"];
export type Message = Schemas["ChatMessageResponse"];
export type Citation = Message["citations"][number];

export const chatKeys = {
  all: ["chat"] as const,
  threads: ["chat", "threads"] as const,
  messages: (threadId: string) => ["chat", "messages", threadId] as const,
};

/** The address of the passage that an answer cites. */
export function placeOf(citation: Citation): string {
  return passageHref(citation.document_id, { firstPage: citation.page, lastPage: citation.page, start: citation.start, end: citation.end });
}

export function threadsQuery() {
  return queryOptions({
    queryKey: chatKeys.threads,
    queryFn: ({ signal }) =>
      answered(api.GET("/v0/orgs/{organization_id}/chat/threads", { params: { path: organizationPath(), query: { limit: 100 } }, signal })),
  });
}

/** The latest messages of a thread, in their order. */
export function messagesQuery(threadId: string) {
  return queryOptions({
    queryKey: chatKeys.messages(threadId),
    queryFn: async ({ signal }) => {
      const path = { ...organizationPath(), thread_id: threadId };
      const get = (skip: number) =>
        answered(
          api.GET("/v0/orgs/{organization_id}/chat/threads/{thread_id}/messages", {
            params: { path, query: { skip, limit: 100 } },
            signal,
          }),
        );
      const first = await get(0);
      const latest = first.total_count > 100 ? await get(first.total_count - 100) : first;
      // The client's types lose that each of the marks is a pair.
      return latest.messages as Message[];
    },
    enabled: threadId !== "",
  });
}

/** The chat models that can be asked, and the one that is asked where nobody names one. */
export function chatModelsQuery() {
  return queryOptions({
    queryKey: modelKeys.chat,
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/models", { params: { path: organizationPath(), query: { kind: "chat", limit: 100 } }, signal }),
      ),
    staleTime: 60_000,
  });
}
