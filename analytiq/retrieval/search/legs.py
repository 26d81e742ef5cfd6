"""The two ways of finding chunks, side by side over every knowledge base of a search."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TypeVar

import structlog

from analytiq.errors import (
    AnalytiqError,
    InvalidInputError,
    NotFoundError,
    QuotaExceededError,
    StoreLoadingError,
    TransientError,
)
from analytiq.retrieval.search.candidates import SAME_SCALE, Candidate, Found, Key, Scale, Scope
from analytiq.retrieval.search.plan import SearchPlan
from analytiq.retrieval.search.request import Degradation, HitScores
from analytiq.telemetry import traces

log = structlog.get_logger(__name__)

T = TypeVar("T")

BUILDING = "keyword_index_building"
"""The code of a search whose keyword index lacks the latest commits."""
THE_CALLERS_OWN = (InvalidInputError, NotFoundError, QuotaExceededError)
"""Errors that no other leg makes up for: the call is wrong, or has to be paid for."""


@dataclass(frozen=True, slots=True)
class LegsResult:
    """What was found, and what could not be looked for."""

    found: Found
    degraded: tuple[Degradation, ...] = ()
    milliseconds: Mapping[str, float] = field(default_factory=dict[str, float])
    """Of each retriever, by its name."""
    is_behind: bool = False
    """The keyword index lacks the latest commits."""


class Legs:
    """Runs the legs that a plan has."""

    def __init__(self, *, has_lexical: bool, timeout_seconds: float) -> None:
        self._has_lexical = has_lexical
        self._timeout_seconds = timeout_seconds

    @property
    def has_lexical(self) -> bool:
        """Whether this installation has an index of words."""
        return self._has_lexical

    async def find(self, scopes: Sequence[Scope], plan: SearchPlan, *, depth: int) -> LegsResult:
        """Ask every leg for `depth` chunks of every knowledge base; a leg that fails is missing from the answer.

        Raises:
            AnalytiqError: every leg of the plan failed; the vector leg's error.
        """
        legs: list[tuple[str, Callable[[Scope, str, int], Awaitable[list[Candidate]]]]] = []
        behind: list[str] = []

        async def words(scope: Scope, question: str, depth: int) -> list[Candidate]:
            return await self._words(scope, question, depth, behind)

        if plan.has_vector_leg and all(scope.query is not None for scope in scopes):
            legs.append(("vector", self._vector))
        if plan.has_lexical_leg and self._has_lexical:
            legs.append(("lexical", words))
        milliseconds: dict[str, float] = {}
        outcomes = await asyncio.gather(
            *(self._timed(milliseconds, name, self._leg(name, leg, scopes, plan.query, depth)) for name, leg in legs)
        )
        failed = {name: error for (name, _), (_, error) in zip(legs, outcomes, strict=True) if error is not None}
        by_name = {name: lists for (name, _), (lists, _) in zip(legs, outcomes, strict=True)}
        has_nothing = not any(one for lists in by_name.values() for one in lists)
        if failed and (len(failed) == len(legs) or (behind and has_nothing)):
            raise next(iter(failed.values()))
        scales = scales_of(scopes, by_name["vector"]) if by_name.get("vector") else {}
        found = Found(
            vector=_best_first(
                by_name.get("vector", []),
                lambda item: scales.get(item.kb_id, SAME_SCALE).of(item.scores.vector or 0.0),
            ),
            lexical=_best_first(by_name.get("lexical", []), lambda item: item.scores.lexical or 0.0),
            is_whole=all(len(one) < depth for lists in by_name.values() for one in lists),
            scales=scales,
        )
        lacking = [degradation(name, error) for name, error in failed.items()]
        lacking += [Degradation("lexical", BUILDING, detail) for detail in behind[:1]]
        return LegsResult(found, tuple(lacking), milliseconds, is_behind=bool(behind))

    @staticmethod
    async def _timed(milliseconds: dict[str, float], name: str, work: Awaitable[T]) -> T:
        began = perf_counter()
        try:
            return await work
        finally:
            milliseconds[name] = (perf_counter() - began) * 1000

    async def vector_scores(self, scopes: Sequence[Scope], candidates: Sequence[Candidate]) -> dict[Key, float]:
        """The vector scores of chunks that were found by words."""
        scores: dict[Key, float] = {}
        for scope in scopes:
            chunks = [
                (item.generation_id, item.chunk_index) for item in candidates if item.kb_id == scope.knowledge_base.id
            ]
            if chunks and scope.query is not None:
                found = await scope.reader.scores(scope.query, chunks)
                scores |= {(scope.knowledge_base.id, *chunk): score for chunk, score in found.items()}
        return scores

    async def _leg(
        self,
        name: str,
        leg: Callable[[Scope, str, int], Awaitable[list[Candidate]]],
        scopes: Sequence[Scope],
        question: str,
        depth: int,
    ) -> tuple[list[list[Candidate]], AnalytiqError | None]:
        try:
            with traces.span(f"search.{name}", knowledge_bases=len(scopes), depth=depth):
                async with asyncio.timeout(self._timeout_seconds):
                    return await asyncio.gather(*(leg(scope, question, depth) for scope in scopes)), None
        except THE_CALLERS_OWN:
            raise
        except TimeoutError:
            return [], TransientError(f"it took longer than {self._timeout_seconds:g} s", code="timeout")
        except AnalytiqError as error:
            return [], error
        except Exception:
            # The other leg may answer; what is wrong with this one is for the log and not for the caller.
            log.exception("search.leg_failed", leg=name)
            return [], TransientError("it failed unexpectedly; the server's log says why", code="internal_error")

    async def _vector(self, scope: Scope, _: str, depth: int) -> list[Candidate]:
        assert scope.query is not None  # noqa: S101  # else this leg is not run
        hits = await scope.reader.vector_search(scope.query, limit=depth, chunk_filter=scope.chunk_filter)
        kb_id = scope.knowledge_base.id
        return [
            Candidate(kb_id, hit.generation_id, hit.document_id, hit.chunk_index, HitScores(vector=hit.relevance))
            for hit in hits
        ]

    async def _words(self, scope: Scope, question: str, depth: int, behind: list[str]) -> list[Candidate]:
        """Search the keyword index; where it is being built, what it has by now, and why into `behind`."""
        name, narrowed = scope.knowledge_base.name, scope.chunk_filter
        try:
            hits = await scope.reader.keyword_search(question, limit=depth, chunk_filter=narrowed)
        except StoreLoadingError:
            behind.append(
                f"The keyword index of the knowledge base {name!r} is being built: keyword search does not find the"
                " latest documents yet."
            )
            hits = await scope.reader.keyword_search_behind(question, limit=depth, chunk_filter=narrowed)
        kb_id = scope.knowledge_base.id
        return [
            Candidate(
                kb_id, hit.generation_id, hit.document_id, hit.chunk_index,
                HitScores(lexical=hit.score),
            )
            for hit in hits
        ]  # fmt: skip


def scales_of(scopes: Sequence[Scope], lists: Sequence[Sequence[Candidate]]) -> dict[str, Scale]:
    """A scale for each knowledge base, where their models differ: its floor is the end of its list."""
    if len({scope.knowledge_base.embedding_model for scope in scopes}) < 2:
        return {}
    return {
        scope.knowledge_base.id: Scale(min((item.scores.vector or 0.0 for item in one), default=0.0))
        for scope, one in zip(scopes, lists, strict=True)
    }


def degradation(step: str, error: AnalytiqError) -> Degradation:
    """What is told of a step that failed."""
    return Degradation(step, error.code, error.detail)


def _best_first(lists: Sequence[Sequence[Candidate]], score: Callable[[Candidate], float]) -> tuple[Candidate, ...]:
    """One list of several, each of which is in order already; a single one stays as it is."""
    if len(lists) == 1:
        return tuple(lists[0])
    together = [item for one in lists for item in one]
    together.sort(key=lambda item: (-score(item), item.document_id, item.chunk_index, item.kb_id))
    return tuple(together)
