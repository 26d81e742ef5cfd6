import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { answered, api, organizationPath } from "@/api/client";
import { documentKeys, tagKeys } from "@/api/keys";

export const TAGS_A_PAGE = 50;

export function tagPageQuery(nameSearch: string, skip: number) {
  return queryOptions({
    queryKey: tagKeys.page(nameSearch, skip),
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/tags", {
          params: { path: organizationPath(), query: { skip, limit: TAGS_A_PAGE, ...(nameSearch && { name_search: nameSearch }) } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
}

/** How many documents have a tag; asked for each row by itself, after the rows. */
export function tagUseQuery(tagId: string) {
  return queryOptions({
    queryKey: documentKeys.list("tagged", tagId),
    queryFn: async ({ signal }) => {
      const { total_count } = await answered(
        api.GET("/v0/orgs/{organization_id}/documents", {
          params: { path: organizationPath(), query: { tag_ids: tagId, limit: 1 } },
          signal,
        }),
      );
      return total_count;
    },
    staleTime: 30_000,
  });
}
