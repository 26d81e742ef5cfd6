"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { MessageSquarePlus, Trash2 } from "lucide-react";
import { parseAsString, useQueryState } from "nuqs";
import { useState } from "react";

import { answered, api, idempotencyKey, organizationPath } from "@/api/client";
import { knowledgeBaseListQuery } from "@/api/queries";
import { BasePicker } from "@/components/base-picker";
import { ConfirmDialog } from "@/components/ui/dialog";
import { EmptyState, ErrorState, SkeletonBlock, tellFailure } from "@/components/feedback";
import { May } from "@/components/may";
import { PageHead } from "@/components/page-head";
import { ScrollArea } from "@/components/scroll-area";
import { Banner } from "@/components/state";
import { Button, ButtonLink } from "@/components/ui/button";
import { Select } from "@/components/ui/select";
import { usePermissions } from "@/state/permissions";

import { Conversation } from "./conversation";
import { chatKeys, chatModelsQuery, type Thread, threadsQuery } from "./queries";

/** Conversations with knowledge bases: which there are, and the one that is open. */
export function Chat() {
  const client = useQueryClient();
  const [threadId, setThreadId] = useQueryState("thread", parseAsString.withDefault("").withOptions({ history: "push" }));
  const { data, error, refetch } = useQuery(threadsQuery());
  const [kbIds, setKbIds] = useState<string[]>([]);
  const [leaving, setLeaving] = useState<Thread | null>(null);
  const models = useQuery(chatModelsQuery());
  const [chosenModel, setChosenModel] = useState<string | null>(null);
  const hasDefault = models.data === undefined || models.data.default_chat_model !== null;
  const model = hasDefault ? null : (chosenModel ?? models.data?.models[0]?.model ?? null);
  const hasNoModel = !hasDefault && model === null;
  const create = useMutation({
    mutationFn: () =>
      answered(
        api.POST("/v0/orgs/{organization_id}/chat/threads", {
          params: { path: organizationPath() },
          body: { kb_ids: kbIds, title: "", searches_again: true, ...(model !== null && { model }) },
          headers: idempotencyKey(),
        }),
      ),
    onSuccess: async (made) => {
      await client.invalidateQueries({ queryKey: chatKeys.threads });
      void setThreadId(made.thread_id);
    },
    onError: (failure) => tellFailure("Couldn't start the conversation", failure),
  });
  const remove = useMutation({
    mutationFn: (thread: Thread) =>
      answered(
        api.DELETE("/v0/orgs/{organization_id}/chat/threads/{thread_id}", {
          params: { path: { ...organizationPath(), thread_id: thread.thread_id } },
        }),
      ),
    onSuccess: (_, thread) => {
      if (thread.thread_id === threadId) void setThreadId("");
    },
    onError: (failure) => tellFailure("The conversation was not deleted", failure),
    onSettled: () => client.invalidateQueries({ queryKey: chatKeys.threads }),
  });
  const threads = data?.threads ?? [];
  const { data: bases } = useQuery(knowledgeBaseListQuery("", 50));
  const hasNoBases = bases?.total_count === 0;
  const open = threads.find((thread) => thread.thread_id === threadId);
  return (
    <>
      <PageHead title="Chat">
        <BasePicker kbIds={kbIds} onChange={setKbIds} />
        {model !== null && (
          <Select
            className="w-auto! max-w-[220px]"
            aria-label="Model"
            value={model}
            onChange={(event) => setChosenModel(event.target.value)}
          >
            {models.data?.models.map((item) => (
              <option key={item.model}>{item.model}</option>
            ))}
          </Select>
        )}
        <Button variant="primary" disabled={kbIds.length === 0 || hasNoModel || create.isPending} onClick={() => create.mutate()}>
          <MessageSquarePlus aria-hidden size={14} /> New conversation
        </Button>
      </PageHead>
      {hasNoModel && <NoModel />}
      <div className="flex min-h-0 flex-1 max-md:flex-col">
        <ScrollArea
          label="Conversations"
          className="max-w-[260px] border-r border-line p-2 max-md:max-h-[28dvh] max-md:max-w-none max-md:flex-none max-md:border-r-0 max-md:border-b"
        >
          {error && !data ? (
            <ErrorState error={error} retry={() => void refetch()} />
          ) : data === undefined ? (
            <SkeletonBlock lines={5} />
          ) : threads.length === 0 ? (
            <p className="px-2 py-3 text-text-2">{hasNoBases ? "No conversations yet." : "Pick one or more knowledge bases to start."}</p>
          ) : (
            <ul className="flex flex-col gap-0.5">
              {threads.map((thread) => (
                <li key={thread.thread_id} className="flex items-center gap-1">
                  <button
                    type="button"
                    className="menu-item min-w-0 flex-1 text-left aria-[current=true]:bg-selected aria-[current=true]:font-semibold"
                    aria-current={thread.thread_id === threadId}
                    onClick={() => void setThreadId(thread.thread_id)}
                  >
                    <span className="truncate">{thread.title || "New conversation"}</span>
                  </button>
                  <May to="delete_chat_thread">
                    <Button
                      variant="quiet"
                      size="small"
                      isIcon
                      aria-label={`Delete ${thread.title || "the conversation"}`}
                      onClick={() => setLeaving(thread)}
                    >
                      <Trash2 aria-hidden size={14} />
                    </Button>
                  </May>
                </li>
              ))}
            </ul>
          )}
        </ScrollArea>
        <div className="flex min-h-0 min-w-0 flex-[3] flex-col">
          {threadId === "" && hasNoBases ? (
            <EmptyState
              title="No knowledge base yet"
              action={
                <May to="create_knowledge_base">
                  <ButtonLink href="/kbs/new/" variant="primary">
                    Create one
                  </ButtonLink>
                </May>
              }
            >
              Answers come from the documents of a knowledge base, with a page citation for each statement.
            </EmptyState>
          ) : threadId === "" ? (
            <EmptyState title="No conversation is open">
              Answers come from your documents, with a page citation for each statement.
            </EmptyState>
          ) : (
            <Conversation key={threadId} threadId={threadId} canAsk={!hasNoModel || open?.model !== null} {...(open && { thread: open })} />
          )}
        </div>
      </div>
      <ConfirmDialog
        open={leaving !== null}
        onOpenChange={(isOpen) => !isOpen && setLeaving(null)}
        title={`Delete ${leaving?.title || "the conversation"}?`}
        action="Delete the conversation"
        onConfirm={() => leaving && remove.mutate(leaving)}
      >
        Only you can see this conversation. All its questions and answers are deleted. This cannot be undone.
      </ConfirmDialog>
    </>
  );
}

/** Told before a question is written, with the way to change it. */
function NoModel() {
  const { isKnown, may, whoMay } = usePermissions();
  if (!isKnown) return null;
  return (
    <div className="border-b border-line p-3">
      <Banner tone="warning">
        <div className="flex flex-wrap items-center gap-3">
          <span className="min-w-[220px] flex-1">
            <strong className="font-semibold">Chat needs a chat model.</strong> Add the key of a provider, such as OpenAI or Mistral, to ask
            questions.
            {!may("put_llm_provider") && ` ${whoMay("put_llm_provider")} can add one.`}
          </span>
          {may("put_llm_provider") && <ButtonLink href="/settings/providers/?add=key">Add a provider key</ButtonLink>}
        </div>
      </Banner>
    </div>
  );
}
