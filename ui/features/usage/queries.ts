import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { answered, api, organizationPath } from "@/api/client";
import { usageKeys } from "@/api/keys";

import { daysUntil, GROUP_FIELD, type GroupBy, MOST_SERIES } from "./daily";

/** What was charged and paid on each of the last days, and in as many days before. */
export function usageQuery(count: number, by: GroupBy) {
  return queryOptions({
    queryKey: usageKeys.days(count, by),
    queryFn: async ({ signal }) => {
      const days = daysUntil(Date.now(), count);
      const since = `${days[0] ?? ""}T00:00:00Z`;
      const before = new Date(Date.parse(since) - count * 86_400_000).toISOString();
      const read = (period: { since: string; until?: string }, top: number) => {
        const query = { ...period, group_by: GROUP_FIELD[by], top };
        return answered(api.GET("/v0/orgs/{organization_id}/usage/days", { params: { path: organizationPath(), query }, signal }));
      };
      const readCalls = (query: { since: string; until?: string }) =>
        answered(api.GET("/v0/orgs/{organization_id}/llm-usage", { params: { path: organizationPath(), query }, signal }));
      const [usage, previous, calls, previousCalls] = await Promise.all([
        read({ since }, MOST_SERIES),
        read({ since: before, until: since }, 1),
        readCalls({ since }),
        readCalls({ since: before, until: since }),
      ]);
      return { by, days, usage, previous, calls, previousCalls };
    },
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });
}
