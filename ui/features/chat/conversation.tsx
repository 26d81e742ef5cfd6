"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { SendHorizontal, Square } from "lucide-react";
import Link from "next/link";
import { lazy, Suspense, useEffect, useRef, useState } from "react";

import { answered, api, idempotencyKey, organizationPath } from "@/api/client";
import { ErrorState, SkeletonBlock, tellFailure } from "@/components/feedback";
import { SourceLink } from "@/components/source-link";
import { Banner } from "@/components/state";
import { Button } from "@/components/ui/button";
import { Textarea } from "@/components/ui/field";

import { splitAtCitations } from "./citations";
import { follow } from "./follow";
import { chatKeys, type Message, messagesQuery, placeOf, type Thread } from "./queries";

// Loaded with the first answer: a fifth of what the page needs.
const AnswerText = lazy(() => import("./answer-text"));
const NO_CITATIONS: Message["citations"] = [];

/** One conversation: what was said, what is being said, and the question to come. */
export function Conversation({
  threadId,
  thread,
  canAsk = true,
}: {
  threadId: string;
  thread?: Thread;
  /** A model is there to answer. */ canAsk?: boolean;
}) {
  const client = useQueryClient();
  const { data: messages, error, refetch } = useQuery(messagesQuery(threadId));
  const [question, setQuestion] = useState("");
  const [said, setSaid] = useState(NOTHING_SAID);
  const [broken, setBroken] = useState<{ id: string; message: string } | null>(null);
  const end = useRef<HTMLDivElement>(null);
  const running = messages?.find((message) => message.state === "running");
  const runningId = running?.message_id;
  const live = runningId === undefined ? said : saidOf(said, runningId);

  useEffect(() => {
    if (runningId === undefined) return;
    const leaving = new AbortController();
    const add = (change: (held: Live) => Partial<Live>) =>
      setSaid((held) => {
        const begun = saidOf(held, runningId);
        return { ...begun, ...change(begun) };
      });
    const path = `/v0/orgs/${organizationPath().organization_id}/chat/threads/${threadId}/messages/${runningId}/events`;
    follow(
      path,
      ({ name, data }) => {
        if (name === "token") add((held) => ({ text: held.text + (data as { text: string }).text, doing: "" }));
        else if (name === "reasoning") add((held) => ({ reasoning: held.reasoning + (data as { text: string }).text, doing: "Thinking…" }));
        else if (name === "tool_call") add(() => ({ doing: "Searching again…" }));
        else if (name === "passages") add(() => ({ doing: "Reading…" }));
      },
      leaving.signal,
    )
      .then(() => setBroken(null))
      .catch((failure: unknown) =>
        setBroken({ id: runningId, message: failure instanceof Error ? failure.message : "The answer was interrupted." }),
      )
      .finally(() => {
        if (leaving.signal.aborted) return;
        void client.invalidateQueries({ queryKey: chatKeys.all });
      });
    return () => leaving.abort();
  }, [client, runningId, threadId]);

  useEffect(() => {
    end.current?.scrollIntoView({ block: "end" });
  }, [messages?.length, live.text]);

  const ask = useMutation({
    mutationFn: (content: string) =>
      answered(
        api.POST("/v0/orgs/{organization_id}/chat/threads/{thread_id}/messages", {
          params: { path: { ...organizationPath(), thread_id: threadId } },
          body: { content },
          headers: idempotencyKey(),
        }),
      ),
    onSuccess: async () => {
      setQuestion("");
      await client.invalidateQueries({ queryKey: chatKeys.all });
    },
    onError: (failure) => tellFailure("Couldn't send your question", failure),
  });
  const stop = useMutation({
    mutationFn: (messageId: string) =>
      answered(
        api.POST("/v0/orgs/{organization_id}/chat/threads/{thread_id}/messages/{message_id}/stop", {
          params: { path: { ...organizationPath(), thread_id: threadId, message_id: messageId } },
        }),
      ),
    onError: (failure) => tellFailure("The answer was not stopped", failure),
  });
  const goOn = useMutation({
    mutationFn: (messageId: string) =>
      answered(
        api.POST("/v0/orgs/{organization_id}/chat/threads/{thread_id}/messages/{message_id}/continue", {
          params: { path: { ...organizationPath(), thread_id: threadId, message_id: messageId } },
        }),
      ),
    onSuccess: () => client.invalidateQueries({ queryKey: chatKeys.all }),
    onError: (failure) => tellFailure("The answer was not continued", failure),
  });
  const { mutate: stopAnswer } = stop;
  useEffect(() => {
    if (runningId === undefined) return;
    const onKey = (event: KeyboardEvent) => {
      // A dialog that is open takes Escape for itself.
      if (event.key === "Escape" && !event.defaultPrevented && !event.isComposing) stopAnswer(runningId);
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [runningId, stopAnswer]);
  const send = () => {
    if (canAsk && question.trim() !== "" && !ask.isPending && runningId === undefined) ask.mutate(question.trim());
  };
  if (error && !messages) return <ErrorState error={error} retry={() => void refetch()} />;
  return (
    <>
      <div role="log" aria-label={thread?.title || "Conversation"} tabIndex={0} className="min-h-0 flex-1 overflow-auto">
        {messages === undefined ? (
          <SkeletonBlock lines={6} />
        ) : (
          <div className="mx-auto flex max-w-[760px] flex-col gap-5 px-4 py-5">
            {messages.length === 0 && <p className="text-text-2">Ask a question about your documents.</p>}
            {messages.map((message) => (
              <Said
                key={message.message_id}
                message={message}
                {...(message.message_id === live.id && message.state === "running" && { live })}
                {...(message === messages.at(-1) &&
                  message.can_continue && { goOn: { start: () => goOn.mutate(message.message_id), isPending: goOn.isPending } })}
              />
            ))}
            {broken && (runningId === undefined || broken.id === runningId) && <Banner tone="failed">{broken.message}</Banner>}
            <div ref={end} />
          </div>
        )}
      </div>
      <form
        className="mx-auto flex w-full max-w-[760px] items-end gap-2 px-4 py-3"
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <Textarea
          className="min-h-10 flex-1 resize-y"
          rows={2}
          aria-label="Question"
          placeholder="Ask a question about your documents"
          maxLength={20_000}
          value={question}
          onChange={(event) => setQuestion(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
              event.preventDefault();
              send();
            }
          }}
        />
        {runningId === undefined ? (
          <Button type="submit" variant="primary" disabled={!canAsk || question.trim() === "" || ask.isPending}>
            <SendHorizontal aria-hidden size={14} /> Ask
          </Button>
        ) : (
          <Button title="Stop (Esc)" disabled={stop.isPending} onClick={() => stop.mutate(runningId)}>
            <Square aria-hidden size={14} /> Stop
          </Button>
        )}
      </form>
    </>
  );
}

interface Live {
  id: string;
  text: string;
  reasoning: string;
  doing: string;
}

const NOTHING_SAID: Live = { id: "", text: "", reasoning: "", doing: "" };

/** What was said of this answer so far: nothing, if what is held is of another. */
function saidOf(held: Live, id: string): Live {
  return held.id === id ? held : { ...NOTHING_SAID, id, doing: "Searching…" };
}

/** What a reader is told of an answer that did not come to its end. */
const ENDINGS: Partial<Record<string, string>> = {
  length: "The answer was cut off at the token limit.",
  content_filter: "The provider's content filter withheld all or part of the answer. Rephrase your question.",
  empty: "The model returned an empty answer. Ask again, or choose another model.",
};

function Said({ message, live, goOn }: { message: Message; live?: Live; goOn?: { start: () => void; isPending: boolean } }) {
  if (message.role === "user") {
    return <p className="self-end rounded-lg bg-selected px-3 py-2 whitespace-pre-wrap break-words">{message.content}</p>;
  }
  const text = live ? live.text : message.content;
  const reasoning = live ? live.reasoning : message.reasoning;
  const ending = live ? undefined : ENDINGS[message.ended_by ?? ""];
  return (
    <article className="flex flex-col gap-2" aria-busy={live !== undefined}>
      {reasoning && (
        <details className="text-text-2">
          <summary className="cursor-pointer">Reasoning</summary>
          <p className="border-l-2 border-line pl-3 whitespace-pre-wrap break-words">{reasoning}</p>
        </details>
      )}
      {text && (
        <Suspense fallback={<p className="whitespace-pre-wrap break-words">{live ? text : <WithCitations message={message} />}</p>}>
          <AnswerText text={text} citations={live ? NO_CITATIONS : message.citations} />
        </Suspense>
      )}
      {live?.doing && (
        <p className="text-text-2" role="status">
          {live.doing}
        </p>
      )}
      {message.state === "stopped" && <p className="text-text-2">Stopped. {costOf(message)}</p>}
      {message.error && <Banner tone="failed">{message.error.detail}</Banner>}
      {ending !== undefined && <Banner tone="warning">{ending}</Banner>}
      {goOn && (
        <Button className="self-start" disabled={goOn.isPending} onClick={goOn.start}>
          Continue answer
        </Button>
      )}
      {!live && message.state === "done" && ending === undefined && message.is_grounded === false && (
        <Banner tone="warning">No source found for this answer.</Banner>
      )}
      {message.citations.length > 0 && (
        <ol className="flex flex-col gap-1 border-l-2 border-line pl-3 text-text-2" aria-label="Citations">
          {message.citations.map((citation) => (
            <li key={citation.number}>
              [{citation.number}]{" "}
              {citation.is_current === false ? (
                <span>
                  {citation.source}, page {citation.page} from an earlier version
                </span>
              ) : (
                <Link className="text-link underline" href={placeOf(citation)}>
                  {citation.source}, page {citation.page}
                </Link>
              )}{" "}
              <q className="break-words">{citation.quote}</q> <SourceLink address={citation.source_url} />
            </li>
          ))}
        </ol>
      )}
    </article>
  );
}

/** What was used until an answer was stopped. */
function costOf({ usage }: Message): string {
  const tokens = usage.prompt_tokens + usage.completion_tokens;
  const price = usage.unpriced_calls > 0 ? "" : `, US$${usage.cost_usd.toFixed(4)}`;
  return `${usage.is_estimated ? "About " : ""}${tokens.toLocaleString("en")} tokens${price} were used.`;
}

/** The answer, each [n] that is a citation leading to its page. */
function WithCitations({ message }: { message: Message }) {
  return splitAtCitations(message.content, message.citations).map(({ piece, citation }, place) => {
    // Where the words stood in an earlier version, other words may stand now: the list below quotes them.
    return citation === undefined || citation.is_current === false ? (
      piece
    ) : (
      <Link
        key={place}
        className="text-link underline"
        href={placeOf(citation)}
        aria-label={`Citation ${citation.number}: ${citation.source}, page ${citation.page}`}
      >
        {piece}
      </Link>
    );
  });
}
