import { queryOptions } from "@tanstack/react-query";

import { answered, api, organizationPath, type Schemas } from "@/api/client";

import { type Configuration, searchBody, writeConfiguration } from "./configuration";

export type SearchAnswer = Schemas["SearchAnswer"];
export type Explanation = Schemas["ExplanationResponse"];
export type Hit = Schemas["SearchResultResponse"];

const searchKeys = {
  answer: (...question: unknown[]) => ["search", ...question] as const,
};

export interface Question {
  query: string;
  kbIds: readonly string[];
  configuration: Configuration;
  filter: string;
}

/** A search is made once: it may be charged, and the same question is answered from the page's memory. */
export function searchQuery({ query, kbIds, configuration, filter }: Question) {
  return queryOptions({
    queryKey: searchKeys.answer(kbIds, query, writeConfiguration(configuration), filter),
    // The client's types widen the pairs of `highlights` to lists; the schema's own are exact.
    queryFn: async ({ signal }): Promise<SearchAnswer> => {
      const body = searchBody(query, configuration, filter);
      const only = kbIds.length === 1 ? kbIds[0] : undefined;
      const call: Promise<unknown> =
        only !== undefined
          ? answered(
              api.POST("/v0/orgs/{organization_id}/knowledge-bases/{kb_id}/search", {
                params: { path: { ...organizationPath(), kb_id: only } },
                body,
                signal,
              }),
            )
          : answered(
              api.POST("/v0/orgs/{organization_id}/search", {
                params: { path: organizationPath() },
                body: { ...body, kb_ids: [...kbIds] },
                signal,
              }),
            );
      return (await call) as SearchAnswer;
    },
    staleTime: Infinity,
    refetchOnWindowFocus: false,
    enabled: query !== "" && kbIds.length > 0,
  });
}

export interface BaseExplanation {
  kbId: string;
  explanation: Explanation | null;
  error: Error | null;
}

/** Ask every chosen knowledge base; those in which the document comes furthest are first. */
export async function explainEach(question: Question, documentId: string): Promise<BaseExplanation[]> {
  const asked = question.kbIds.map(async (kbId): Promise<BaseExplanation> => {
    try {
      return { kbId, explanation: await explain(question, kbId, documentId), error: null };
    } catch (error) {
      return { kbId, explanation: null, error: error instanceof Error ? error : new Error("An unexpected error.") };
    }
  });
  const passed = ({ explanation }: BaseExplanation) => explanation?.stages.filter((stage) => stage.is_passed).length ?? -1;
  return (await Promise.all(asked)).sort((first, second) => passed(second) - passed(first));
}

async function explain(question: Question, kbId: string, documentId: string): Promise<Explanation> {
  const call: Promise<unknown> = answered(
    api.POST("/v0/orgs/{organization_id}/knowledge-bases/{kb_id}/explain", {
      params: { path: { ...organizationPath(), kb_id: kbId } },
      body: { ...searchBody(question.query, question.configuration, question.filter), document_id: documentId },
    }),
  );
  return (await call) as Explanation;
}
