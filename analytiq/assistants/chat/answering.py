"""Answers to questions: the engine's loop, and the citations of the answer."""

import asyncio
from collections.abc import Sequence

import structlog

from analytiq.assistants.chat import prompting
from analytiq.assistants.chat.citing import Cited, cited
from analytiq.assistants.chat.draft import Draft
from analytiq.assistants.chat.recorder import AnswerServices, DraftRecorder
from analytiq.assistants.engine.loop import run_to_end
from analytiq.errors import AnalytiqError
from analytiq.inference.llm.base import Completion, FinishReason
from analytiq.ingestion.documents.service import Documents
from analytiq.models.chat import AnswerEnd, ChatCitation, ChatMessage, ChatThread
from analytiq.models.organization import Organization
from analytiq.models.text import PageLocator

log = structlog.get_logger(__name__)


class Answering:
    """Makes answers with the engine, and adds their citations."""

    def __init__(self, services: AnswerServices, documents: Documents) -> None:
        self.chat = services.chat
        self._services = services
        self._documents = documents

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
            TransientError: the provider or the search failed.
            ProviderRefusedError: the provider will never accept this call.
        """
        recorder = DraftRecorder(self._services, organization, thread, draft, self._services.settings.max_rounds)
        history = prompting.turns_of(earlier)
        searched, passages = await recorder.search_first(question, history)
        recorder.messages = prompting.opening(
            question, searched, passages, history, searches_again=thread.searches_again
        )
        await run_to_end(recorder)
        await self._close(organization, recorder.completion, draft)

    async def go_on(
        self,
        organization: Organization,
        thread: ChatThread,
        question: str,
        earlier: Sequence[ChatMessage],
        draft: Draft,
    ) -> None:
        """Continue an interrupted draft, from the passages of its first part.

        Raises the errors of `answer`.
        """
        cut = draft.message
        # Both the thread's usage and the draft's include this answer: subtract it once.
        counted = thread.model_copy(update={"usage": thread.usage.without(cut.usage)})
        recorder = DraftRecorder(self._services, organization, counted, draft, max_rounds=1, seam=cut.content)
        recorder.messages = prompting.continuation(question, cut, prompting.turns_of(earlier))
        await run_to_end(recorder)
        await self._close(organization, recorder.completion, draft)

    async def _close(self, organization: Organization, completion: Completion, draft: Draft) -> None:
        draft.restore_code()
        draft.end_by(_end_of(completion))
        draft.cite(await self._citations(organization.id, draft.message))

    async def _citations(self, organization_id: str, message: ChatMessage) -> list[ChatCitation]:
        found = cited(message.content, message.passages)
        pages = await asyncio.gather(*(self._page(organization_id, item) for item in found))
        return [_citation(item, page) for item, page in zip(found, pages, strict=True)]

    async def _page(self, organization_id: str, item: Cited) -> int:
        """Return the page on which the quote begins."""
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
        # The pages of a replaced text have moved.
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


def _citation(item: Cited, page: int) -> ChatCitation:
    passage = item.passage
    return ChatCitation(
        number=passage.number,
        kb_id=passage.kb_id,
        document_id=passage.document_id,
        source=passage.source,
        chunk_index=passage.chunk_index,
        index_type=passage.index_type,
        page=page,
        start=passage.start + item.start,
        end=passage.start + item.end,
        quote=passage.content[item.start : item.end],
        marks=item.marks,
        heading_path=passage.heading_path,
        page_name=passage.page_name,
        chunk_id=passage.chunk_id,
        rank=passage.rank,
        token_count=passage.token_count,
        source_url=passage.source_url,
        tags=passage.tags,
        metadata=passage.metadata,
        text_hash=passage.text_hash,
    )
