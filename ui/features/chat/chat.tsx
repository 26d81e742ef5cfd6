"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { MessageSquarePlus, Trash2 } from "lucide-react";
import Link from "next/link";
import { parseAsString, useQueryState } from "nuqs";
import { useState } from "react";

import { answered, api, idempotencyKey, organizationPath } from "@/api/client";
import { knowledgeBaseListQuery } from "@/api/queries";
import { BasePicker } from "@/components/base-picker";
import { ConfirmDialog } from "@/components/dialog";
import { EmptyState, ErrorState, SkeletonBlock, tellFailure } from "@/components/feedback";
import { May } from "@/components/may";
import { PageHead } from "@/components/page-head";
import { ScrollArea } from "@/components/scroll-area";

import { Conversation } from "./conversation";
import { type Thread, threadsQuery } from "./queries";

/** Conversations with knowledge bases: which there are, and the one that is open. */
export function Chat() {
  const client = useQueryClient();
  const [threadId, setThreadId] = useQueryState("thread", parseAsString.withDefault("").withOptions({ history: "push" }));
  const { data, error, refetch } = useQuery(threadsQuery());
  const [kbIds, setKbIds] = useState<string[]>([]);
  const [leaving, setLeaving] = useState<Thread | null>(null);
  const create = useMutation({
    mutationFn: () =>
      answered(
        api.POST("/v0/orgs/{organization_id}/chat/threads", {
          params: { path: organizationPath() },
          body: { kb_ids: kbIds, title: "", searches_again: true },
          headers: idempotencyKey(),
        }),
      ),
    onSuccess: async (made) => {
      await client.invalidateQueries({ queryKey: ["chat", "threads"] });
      void setThreadId(made.thread_id);
    },
    onError: (failure) => tellFailure("The conversation was not begun", failure),
  });
  const remove = useMutation({
    mutationFn: (thread: Thread) =>
      answered(
        api.DELETE("/v0/orgs/{organization_id}/chat/threads/{thread_id}", { params: { path: { ...organizationPath(), thread_id: thread.thread_id } } }),
      ),
    onSuccess: (_, thread) => {
      if (thread.thread_id === threadId) void setThreadId("");
    },
    onError: (failure) => tellFailure("The conversation was not deleted", failure),
    onSettled: () => client.invalidateQueries({ queryKey: ["chat", "threads"] }),
  });
  const threads = data?.threads ?? [];
  const { data: bases } = useQuery(knowledgeBaseListQuery("", 50));
  const hasNoBases = bases?.total_count === 0;
  const open = threads.find((thread) => thread.thread_id === threadId);
  return (
    <>
      <PageHead title="Chat">
        <BasePicker kbIds={kbIds} onChange={setKbIds} />
        <button type="button" className="button button-primary" disabled={kbIds.length === 0 || create.isPending} onClick={() => create.mutate()}>
          <MessageSquarePlus aria-hidden size={14} /> New conversation
        </button>
      </PageHead>
      <div className="flex min-h-0 flex-1 max-md:flex-col">
        <ScrollArea label="Conversations" className="max-w-[260px] border-r border-line p-2 max-md:max-h-[28dvh] max-md:max-w-none max-md:flex-none max-md:border-r-0 max-md:border-b">
          {error && !data ? (
            <ErrorState error={error} retry={() => void refetch()} />
          ) : data === undefined ? (
            <SkeletonBlock lines={5} />
          ) : threads.length === 0 ? (
            <p className="px-2 py-3 text-text-2">{hasNoBases ? "No conversations yet." : "Choose knowledge bases above, and begin a conversation with them."}</p>
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
                    <button type="button" className="button button-quiet button-icon button-small" aria-label={`Delete ${thread.title || "the conversation"}`} onClick={() => setLeaving(thread)}>
                      <Trash2 aria-hidden size={14} />
                    </button>
                  </May>
                </li>
              ))}
            </ul>
          )}
        </ScrollArea>
        <div className="flex min-h-0 min-w-0 flex-[3] flex-col">
          {threadId === "" && hasNoBases ? (
            <EmptyState
              title="There is no knowledge base to ask"
              action={
                <May to="create_knowledge_base">
                  <Link href="/kbs/new/" className="button button-primary">
                    Create one
                  </Link>
                </May>
              }
            >
              It gathers every document that shares its tags; answers come from there, with the page that each statement stands on.
            </EmptyState>
          ) : threadId === "" ? (
            <EmptyState title="No conversation is open">Answers come from the documents of the knowledge bases, with the page that each statement stands on.</EmptyState>
          ) : (
            <Conversation key={threadId} threadId={threadId} {...(open && { thread: open })} />
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
        Only you see it. Its questions and answers are gone. This cannot be undone.
      </ConfirmDialog>
    </>
  );
}
