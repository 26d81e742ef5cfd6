import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { answered, api } from "@/api/client";

export const sessionKeys = {
  /** The present one: who is signed in, with the organizations. */
  own: ["session"] as const,
  all: ["sessions"] as const,
  page: (skip: number) => ["sessions", skip] as const,
};

export const SESSIONS_A_PAGE = 20;

export function ownSessionQuery() {
  return queryOptions({
    queryKey: sessionKeys.own,
    queryFn: ({ signal }) => answered(api.GET("/v0/auth/session", { signal })),
  });
}

export function sessionsQuery(skip: number) {
  return queryOptions({
    queryKey: sessionKeys.page(skip),
    queryFn: ({ signal }) => answered(api.GET("/v0/auth/sessions", { params: { query: { skip, limit: SESSIONS_A_PAGE } }, signal })),
    placeholderData: keepPreviousData,
  });
}
