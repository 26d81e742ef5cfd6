"""Makes one answer: searches, asks the model, searches for it, until it has answered."""

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import replace

import structlog

from analytiq.assistants.agent.search_tool import NAME, SEARCH_TOOL, Refusal, read_call
from analytiq.assistants.chat import prompting
from analytiq.assistants.chat.citing import Cited, cited
from analytiq.assistants.chat.draft import Draft
from analytiq.assistants.chat.saying import Said, Seam
from analytiq.errors import AnalytiqError, QuotaExceededError, StoreLoadingError, TransientError
from analytiq.inference.llm.base import (
    Completion,
    FinishReason,
    Message,
    Options,
    Role,
    TokenUsage,
    ToolCall,
    ToolChoice,
)
from analytiq.inference.llm.counting import CallCount, counting_calls, requiring_budget
from analytiq.inference.llm.litellm_chat import cost_usd
from analytiq.inference.llm.service import ChatService, Purpose, estimated_usage
from analytiq.ingestion.documents.service import Documents
from analytiq.models.chat import AnswerEnd, ChatCitation, ChatMessage, ChatPassage, ChatThread, ChatUsage
from analytiq.models.llm_usage import LlmOperation
from analytiq.models.organization import Organization
from analytiq.models.text import PageLocator
from analytiq.retrieval.filters.tree import EVERYTHING
from analytiq.retrieval.search.request import SearchRequest, SearchResponse, Turn
from analytiq.retrieval.search.service import Search
from analytiq.settings import ChatSettings
from analytiq.tenancy.metering.counting import counting_spus

log = structlog.get_logger(__name__)

FIRST_CALL_ID = "question"
TEMPERATURE = 0.1
LOADING_PAUSE_SECONDS = 1.0
LEAST_ANSWER_TOKENS = 64
"""A call for which a budget leaves fewer is not made: it would be paid for, and cut."""


class Answering:
    """Makes answers."""

    def __init__(self, search: Search, chat: ChatService, documents: Documents, settings: ChatSettings) -> None:
        self._search = search
        self._chat = chat
        self._documents = documents
        self._settings = settings

    async def answer(
        self,
        organization: Organization,
        thread: ChatThread,
        question: str,
        earlier: Sequence[ChatMessage],
        draft: Draft,
    ) -> None:
        """Fill the draft.

        Raises:
            NotFoundError: a knowledge base is gone.
            QuotaExceededError: the organization's SPUs, or the thread's budget, are used up.
            TransientError: the provider, or the search, failed.
            ProviderRefusedError: the provider will never accept this call.
        """
        history = prompting.turns_of(earlier)
        searched, passages = await self._search_first(organization, thread, question, history, draft)
        messages = prompting.opening(question, searched, passages, history, searches_again=thread.searches_again)
        completion = Completion("")
        for round_number in range(1, self._settings.max_rounds + 1):
            is_last = round_number == self._settings.max_rounds
            options = self._options(thread, messages, draft, is_last=is_last)
            completion = await self._ask(organization, thread, messages, draft, options)
            if not completion.tool_calls or is_last:
                break
            messages.append(Message(Role.ASSISTANT, completion.text, completion.tool_calls))
            messages += await self._called(organization, thread, completion.tool_calls, draft)
            draft.begin_round()
        await self._close(organization, completion, draft)

    async def go_on(
        self,
        organization: Organization,
        thread: ChatThread,
        question: str,
        earlier: Sequence[ChatMessage],
        draft: Draft,
    ) -> None:
        """Continue the draft where it was cut, from the passages that it was begun with.

        Raises as `answer`.
        """
        cut = draft.message
        messages = prompting.continuation(question, cut, prompting.turns_of(earlier))
        # What the thread has counted of this answer is in the draft, too.
        counted = thread.model_copy(update={"usage": thread.usage.without(cut.usage)})
        options = self._options(counted, messages, draft, is_last=True)
        completion = await self._ask(organization, counted, messages, draft, options, seam=cut.content)
        await self._close(organization, completion, draft)

    async def _close(self, organization: Organization, completion: Completion, draft: Draft) -> None:
        draft.restore_code()
        draft.end_by(_end_of(completion))
        draft.cite(await self._citations(organization.id, draft.message))

    async def _search_first(
        self, organization: Organization, thread: ChatThread, question: str, history: tuple[Turn, ...], draft: Draft
    ) -> tuple[str, list[ChatPassage]]:
        """What the question finds before the model is asked: models that call no tools answer from it too."""
        draft.add_call(FIRST_CALL_ID, NAME, json.dumps({"query": question}, ensure_ascii=False))
        request = SearchRequest(query=question, top_k=thread.top_k, history=history, model=thread.model)
        response = await self._searched(organization, thread, request, draft)
        searched = response.generated_queries[0] if history and response.generated_queries else question
        passages = prompting.fitting(draft.number(response.results))
        draft.name_question(searched)
        draft.add_passages(FIRST_CALL_ID, searched, passages, notes=_notes(response))
        return searched, passages

    async def _searched(
        self, organization: Organization, thread: ChatThread, request: SearchRequest, draft: Draft
    ) -> SearchResponse:
        wanted = replace(request, score_threshold=thread.score_threshold)
        with counting_spus() as charged, counting_calls() as made, requiring_budget(_budget_of(thread, draft, made)):
            try:
                return await self._loaded(organization, thread, wanted)
            finally:
                if charged.spus:
                    draft.add_usage(ChatUsage(spus=charged.spus))
                # A question is worded anew by the model before it is searched for.
                for call in made.calls:
                    draft.add_usage(_usage(call.usage, call.cost_usd))

    async def _loaded(self, organization: Organization, thread: ChatThread, request: SearchRequest) -> SearchResponse:
        """Search, and wait for vectors that are still being loaded."""
        deadline = asyncio.get_running_loop().time() + self._settings.loading_wait_seconds
        while True:
            try:
                return await self._search.search_several(organization, thread.kb_ids, request)
            except StoreLoadingError as error:
                pause = error.retry_after or LOADING_PAUSE_SECONDS
                if asyncio.get_running_loop().time() + pause > deadline:
                    raise
                await asyncio.sleep(pause)

    def _options(self, thread: ChatThread, messages: Sequence[Message], draft: Draft, *, is_last: bool) -> Options:
        """Decide what one round of the model may use.

        Raises:
            QuotaExceededError: the budget leaves no room for an answer.
        """
        asked = estimated_usage(messages, "").prompt_tokens
        require_budget(thread, draft.message.usage, asked + LEAST_ANSWER_TOKENS)
        tools = (SEARCH_TOOL,) if thread.searches_again else ()
        return Options(
            tools=tools,
            tool_choice=ToolChoice.NONE if tools and is_last else ToolChoice.AUTO,
            temperature=TEMPERATURE,
            max_tokens=_most_tokens(thread, draft.message.usage, asked, self._settings.max_answer_tokens),
        )

    async def _ask(
        self,
        organization: Organization,
        thread: ChatThread,
        messages: Sequence[Message],
        draft: Draft,
        options: Options,
        *,
        seam: str = "",
    ) -> Completion:
        """Make one round of the model, its text into the draft as it comes; what is cut is counted all the same.

        `seam`: what the round goes on from, which models begin by repeating.
        """
        model = draft.message.model
        purpose = Purpose(LlmOperation.CHAT, thread.kb_ids[0] if len(thread.kb_ids) == 1 else None, thread.id)
        said = Said(draft, Seam(seam))
        is_answered = False
        try:
            async with aclosing(self._chat.stream(organization, messages, options, purpose, model=model)) as events:
                async for event in events:
                    if not isinstance(event, Completion):
                        said.add(event)
                        continue
                    said.settle(event)
                    draft.add_usage(_usage(event.usage, event.cost_usd))
                    is_answered = True
                    return event
        except asyncio.CancelledError:
            draft.add_usage(_cut(messages, said.everything, model))
            raise
        except AnalytiqError:
            if said.everything and not is_answered:
                draft.add_usage(_cut(messages, said.everything, model))
            raise
        raise TransientError("the provider ended its answer without a last word: ask again", code="stream_cut")

    async def _called(
        self, organization: Organization, thread: ChatThread, calls: Sequence[ToolCall], draft: Draft
    ) -> list[Message]:
        """What the calls of one round come to, all at once; every call is answered, or providers refuse the next."""
        bounded = calls[: self._settings.max_calls_of_round]
        for call in bounded:
            draft.add_call(call.id, call.name, call.arguments)
        answers = await asyncio.gather(*(self._call(organization, thread, call, draft) for call in bounded))
        refused = [
            Message(Role.TOOL, "Too many calls at once: this one was not made.", tool_call_id=call.id)
            for call in calls[len(bounded) :]
        ]
        return [*answers, *refused]

    async def _call(self, organization: Organization, thread: ChatThread, call: ToolCall, draft: Draft) -> Message:
        read = read_call(call.name, call.arguments, scope=EVERYTHING)
        if isinstance(read, Refusal):
            draft.add_passages(call.id, "", (), notes=(), error=read.detail)
            return Message(Role.TOOL, f"Error ({read.code}): {read.detail}", tool_call_id=call.id)
        try:
            response = await self._searched(organization, thread, read.request, draft)
        except AnalytiqError as error:
            # Out of SPUs too: the model is paid for by now, and answers from what was found before.
            draft.add_passages(call.id, read.request.query, (), notes=(), error=error.detail)
            return Message(Role.TOOL, f"Error ({error.code}): {error.detail}", tool_call_id=call.id)
        passages = prompting.fitting(draft.number(response.results))
        notes = [*read.notes, *_notes(response)]
        draft.add_passages(call.id, read.request.query, passages, notes=notes)
        return Message(Role.TOOL, prompting.found_text(read.request.query, passages, read.notes), tool_call_id=call.id)

    async def _citations(self, organization_id: str, message: ChatMessage) -> list[ChatCitation]:
        found = cited(message.content, message.passages)
        pages = await asyncio.gather(*(self._page(organization_id, item) for item in found))
        return [_citation(item, page) for item, page in zip(found, pages, strict=True)]

    async def _page(self, organization_id: str, item: Cited) -> int:
        """The page on which what is quoted begins."""
        passage = item.passage
        if passage.first_page == passage.last_page:
            return passage.first_page
        count = passage.last_page - passage.first_page + 1
        try:
            document, pages, _ = await self._documents.text_pages(
                organization_id, passage.document_id, first_page=passage.first_page, page_count=count
            )
        except AnalytiqError as error:
            log.info("chat.page_not_found", document_id=passage.document_id, code=error.code)
            return passage.first_page
        spans = [page.span for page in pages]
        # Of a text that was replaced since, the pages lie elsewhere.
        if document.text_hash != passage.text_hash or not spans:
            return passage.first_page
        start = passage.start + item.start
        first, _ = PageLocator(spans).between(start, start + 1)
        return first


def _end_of(completion: Completion) -> AnswerEnd:
    if completion.finish_reason is FinishReason.CONTENT_FILTER:
        return AnswerEnd.CONTENT_FILTER
    if completion.finish_reason is FinishReason.LENGTH:
        return AnswerEnd.LENGTH
    return AnswerEnd.COMPLETE if completion.text.strip() else AnswerEnd.EMPTY


def require_budget(thread: ChatThread, used: ChatUsage, more_tokens: int) -> None:
    """Refuse a call that would take the thread beyond its budget.

    Raises:
        QuotaExceededError: code `budget_exceeded`.
    """
    if thread.token_budget is None:
        return
    total = thread.usage.tokens + used.tokens
    if total + more_tokens > thread.token_budget:
        raise QuotaExceededError(
            f"the thread has used {total} of its {thread.token_budget} tokens, and the next call needs about"
            f" {more_tokens}: raise its token_budget, or begin another thread",
            code="budget_exceeded",
        )


def _most_tokens(thread: ChatThread, used: ChatUsage, asked: int, most: int) -> int:
    """How long an answer may be, so that the budget holds it too."""
    if thread.token_budget is None:
        return most
    return min(most, thread.token_budget - thread.usage.tokens - used.tokens - asked)


def _budget_of(thread: ChatThread, draft: Draft, made: CallCount) -> Callable[[int], None]:
    """What a call within a search is held against; those that were `made` there are not in the draft yet."""

    def require(tokens: int) -> None:
        used = draft.message.usage
        for call in made.calls:
            used += _usage(call.usage, call.cost_usd)
        require_budget(thread, used, tokens + LEAST_ANSWER_TOKENS)

    return require


def _usage(usage: TokenUsage, cost_usd: float | None) -> ChatUsage:
    return ChatUsage(
        calls=1,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cost_usd=cost_usd or 0.0,
        unpriced_calls=int(cost_usd is None),
        is_estimated=usage.is_estimated,
    )


def _cut(messages: Sequence[Message], text: str, model: str | None) -> ChatUsage:
    used = estimated_usage(messages, text)
    return _usage(used, cost_usd(model, used) if model is not None else None)


def _notes(response: SearchResponse) -> list[str]:
    return [f"without {item.step}: {item.detail}" for item in response.degraded]


def _citation(item: Cited, page: int) -> ChatCitation:
    passage = item.passage
    return ChatCitation(
        number=passage.number,
        kb_id=passage.kb_id,
        document_id=passage.document_id,
        source=passage.source,
        chunk_index=passage.chunk_index,
        page=page,
        start=passage.start + item.start,
        end=passage.start + item.end,
        quote=passage.content[item.start : item.end],
        marks=item.marks,
        text_hash=passage.text_hash,
    )
