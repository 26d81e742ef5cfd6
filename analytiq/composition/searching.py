"""Puts together what answers questions: search, its explanation, and conversations."""

from dataclasses import dataclass

from analytiq.assistants.chat.answering import Answering
from analytiq.assistants.chat.service import Chats
from analytiq.composition.documents import DocumentLives
from analytiq.composition.model_calls import ModelCalls
from analytiq.retrieval.backends.registry import Backends
from analytiq.retrieval.search.check import Check
from analytiq.retrieval.search.compression import ChatCompressor
from analytiq.retrieval.search.explain import Explain
from analytiq.retrieval.search.finding import Finding
from analytiq.retrieval.search.legs import Legs
from analytiq.retrieval.search.presenting import Presenting
from analytiq.retrieval.search.service import Search
from analytiq.retrieval.search.steps import ModelSteps
from analytiq.retrieval.search.understanding import ChatUnderstanding
from analytiq.settings import Settings
from analytiq.storage.all_repositories import Repositories


@dataclass(frozen=True, slots=True)
class Searching:
    """What finds passages, and what answers from them."""

    search: Search
    explain: Explain
    chats: Chats


def new_searching(
    rows: Repositories, calls: ModelCalls, backends: Backends, lives: DocumentLives, settings: Settings
) -> Searching:
    """A search has two retrievers, for vectors and for keywords, and steps of models around them."""
    legs = Legs(has_lexical=backends.has_keywords, timeout_seconds=settings.search.leg_timeout_seconds)
    steps = ModelSteps(
        understanding=ChatUnderstanding(calls.chat, cache_seconds=settings.search.understanding_cache_seconds),
        reranker=calls.reranking,
        compressor=ChatCompressor(calls.chat),
    )
    check = Check(rows.documents, rows.entries)
    finding = Finding(rows.knowledge_bases, rows.epochs, rows.documents, rows.tags, backends, legs, check)
    presenting = Presenting(rows.vectors, legs, steps, step_timeout_seconds=settings.search.step_timeout_seconds)
    search = Search(finding, presenting, legs, calls.embedding, rows.entries, steps, settings.search)
    return Searching(
        search=search,
        explain=Explain(search, finding, presenting, lives.documents, lives.indexing_states, settings.search),
        chats=Chats(
            rows.connection,
            rows.chats,
            rows.documents,
            lives.knowledge_bases,
            calls.chat,
            Answering(search, calls.chat, lives.documents, settings.chat),
            settings.chat,
        ),
    )
