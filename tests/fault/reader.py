"""Somebody who searches all the time, and what he must never see."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from analytiq.retrieval.pipeline.request import SearchResult
from tests.fault.site import SWEEP_DELAY_SECONDS, Site, is_passing
from tests.integration.tenant import Tenant

QUESTION = "in which year"
PAUSE_SECONDS = 0.01


@dataclass(slots=True)
class _Watched:
    """A document as the reader knows it: the texts of its versions, and the last one that was seen."""

    versions: list[str]
    must_be_there: bool
    seen: int = -1
    leaving_since: float | None = None
    gone_since: float | None = None


def text_of(results: Sequence[SearchResult]) -> str:
    """The text that a document's passages make, without spaces; each passage counts as often as it was given."""
    return without_spaces("".join(result.content for result in sorted(results, key=lambda result: result.chunk_index)))


def without_spaces(text: str) -> str:
    """Return the comparable text: chunks come without the space between them."""
    return "".join(text.split())


def by_document(results: Sequence[SearchResult]) -> dict[str, list[SearchResult]]:
    found: dict[str, list[SearchResult]] = {}
    for result in results:
        found.setdefault(result.document_id, []).append(result)
    return found


@dataclass(slots=True)
class Reader:
    """Searches a knowledge base of at most 100 chunks in a loop; `wrong` collects what should never have been seen.

    A document that is `present` is found at every search, whole, in one of its versions, never in an earlier one
    than before. One that is `joining` may be missing until it was found once. One that `leaves` is never found by a
    search that began after the call had returned.

    A search that outlasts the wait before a sweep may lose passages of what was replaced at its beginning, and one that
    says that a leg failed finds by the other alone. It is `slow`, and tells only whether it has found what had left.
    """

    tenant: Tenant
    kb_id: str
    searches: int = 0
    slow: int = 0
    wrong: list[str] = field(default_factory=list)
    _watched: dict[str, _Watched] = field(default_factory=dict)

    def present(self, document_id: str, *versions: str) -> None:
        self._watched[document_id] = _Watched([without_spaces(text) for text in versions], must_be_there=True)

    def joining(self, document_id: str, *versions: str) -> None:
        self._watched[document_id] = _Watched([without_spaces(text) for text in versions], must_be_there=False)

    @asynccontextmanager
    async def leaving(self, document_id: str) -> AsyncGenerator[None]:
        """The block is the call that takes the document out."""
        watched = self._watched[document_id]
        watched.leaving_since = asyncio.get_running_loop().time()
        yield
        watched.gone_since = asyncio.get_running_loop().time()

    @asynccontextmanager
    async def reading(self) -> AsyncGenerator[None]:
        """Reads while the block runs; leaving it tells what was wrong."""
        task = asyncio.create_task(self._read())
        try:
            yield
        finally:  # where the block fails, its own error is told
            task.cancel()
            await asyncio.wait([task])
        if not task.cancelled():
            task.result()
        assert self.searches > 0, "nothing was searched"
        assert self.wrong == [], f"{len(self.wrong)} of {self.searches} searches were wrong: {self.wrong[:5]}"

    async def _read(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            try:
                answer = await self.tenant.search(self.kb_id, QUESTION, top_k=100)
            except Exception as error:
                if not is_passing(error):
                    raise
            else:
                # By words alone, while the vectors cannot be read, chunks without the question's words are not found.
                is_slow = loop.time() - began >= SWEEP_DELAY_SECONDS or bool(answer.degraded)
                self.slow += is_slow
                self.searches += not is_slow
                found = by_document(answer.results)
                for document_id, watched in self._watched.items():
                    self._judge(document_id, watched, found.get(document_id, []), began, is_slow=is_slow)
            await asyncio.sleep(PAUSE_SECONDS)

    def _judge(
        self, document_id: str, watched: _Watched, results: Sequence[SearchResult], began: float, *, is_slow: bool
    ) -> None:
        if watched.gone_since is not None and began >= watched.gone_since:
            if results:
                self.wrong.append(f"{document_id} was found after it had left")
            return
        if is_slow or watched.leaving_since is not None:
            return  # this search and the sweep or the leaving overlap: any answer is right
        if not results:
            if watched.must_be_there or watched.seen >= 0:
                self.wrong.append(f"{document_id} was not found")
            return
        text = text_of(results)
        if text not in watched.versions:
            self.wrong.append(f"{document_id} was found as {text!r}")
            return
        version = watched.versions.index(text)
        if version < watched.seen:
            self.wrong.append(f"{document_id} went back to an earlier version")
        watched.seen = max(watched.seen, version)


def reader_of(site: Site, kb_id: str) -> Reader:
    return Reader(site.tenant, kb_id)
