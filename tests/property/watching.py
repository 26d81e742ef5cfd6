"""Searches everything, again and again, and compares with the model."""

from collections.abc import Mapping

from analytiq.composition import Services
from analytiq.errors import NotFoundError
from analytiq.models.organization import Organization
from analytiq.retrieval.pipeline.request import SearchRequest, SearchResult
from tests.property.model import Model, Watch

QUESTION = "shared words"
ALL = 100
"""More chunks than a run has in one knowledge base."""

Found = dict[str, int]
"""Document → position of the version that was found, whole and alone."""


class Watching:
    """The view of an observer who asks all knowledge bases after every step."""

    def __init__(self, observer: Services, model: Model, organizations: Mapping[str, Organization]) -> None:
        self._observer = observer
        self._model = model
        self._organizations = organizations
        self._known: dict[str, str] = {}
        """Knowledge bases that existed once → organization."""
        self.searches = 0

    async def look(self, services: Services | None = None, *, only_of: str | None = None) -> dict[str, Found]:
        """Search every knowledge base, or those of one organization.

        Nothing else moves meanwhile, so every answer is of this moment.
        """
        model = self._model
        found: dict[str, Found] = {}
        for kb_id, organization_id in self._known.items():
            if kb_id not in model.knowledge_bases and only_of is None:
                await self._require_unknown(services, organization_id, kb_id)
        shown = {kb_id: kb for kb_id, kb in model.knowledge_bases.items() if only_of in (None, kb.organization_id)}
        for kb_id, kb in shown.items():
            self._known[kb_id] = kb.organization_id
            results = await self.search(services or self._observer, kb.organization_id, kb_id)
            found[kb_id] = versions = self._read(kb_id, results)
            strangers = versions.keys() - model.members(kb_id)
            assert not strangers, f"{kb.name} shows {strangers}, which are no members"
            missing = {item for at, item in model.findable if at == kb_id} - versions.keys()
            assert not missing, f"{kb.name} does not show {missing}, which were found before and have not left"
            for document_id, position in versions.items():
                self._require_no_older(kb_id, document_id, position, model.seen.get((kb_id, document_id), 0))
                model.seen[kb_id, document_id] = position
                model.findable.add((kb_id, document_id))
        model.changed()
        return found

    async def search(self, services: Services, organization_id: str, kb_id: str) -> tuple[SearchResult, ...]:
        self.searches += 1
        organization = self._organizations[organization_id]
        answer = await services.retrieval.search.search(
            organization, kb_id, SearchRequest(QUESTION, top_k=ALL, deduplicate=False)
        )
        return answer.results

    def judge(self, watch: Watch, results: tuple[SearchResult, ...]) -> None:
        """An answer that took a while is of some moment of it, for each document."""
        steady = tuple(item for item in results if item.document_id in watch.steady)
        strangers = {item.document_id for item in results} - watch.members
        assert not strangers, f"a search showed {strangers}, which were no members at any time of it"
        shown = self._read(watch.kb_id, steady)
        missing = watch.steady - shown.keys()
        assert not missing, f"a search did not show {missing}, which were members all the time"
        for document_id, position in shown.items():
            self._require_no_older(watch.kb_id, document_id, position, watch.floor.get(document_id, 0))

    def _require_no_older(self, kb_id: str, document_id: str, position: int, floor: int) -> None:
        assert position >= floor, f"{kb_id} shows version {position} of {document_id}, after version {floor} was seen"

    def _read(self, kb_id: str, results: tuple[SearchResult, ...]) -> Found:
        """Return the version of each found document: all chunks of one, and no other."""
        model = self._model
        parts: dict[str, list[SearchResult]] = {}
        for result in results:
            parts.setdefault(result.document_id, []).append(result)
        found: Found = {}
        for document_id, chunks in parts.items():
            assert document_id in model.documents, f"{kb_id} shows {document_id}, which does not exist"
            document = model.documents[document_id]
            text = _letters("".join(chunk.content for chunk in sorted(chunks, key=lambda chunk: chunk.start)))
            versions = [_letters(content.text) for content in document.contents]
            assert text in versions, f"{kb_id} shows {text!r} of {document_id}, whose versions are {versions}"
            found[document_id] = versions.index(text)
        return found

    async def _require_unknown(self, services: Services | None, organization_id: str, kb_id: str) -> None:
        try:
            await self.search(services or self._observer, organization_id, kb_id)
        except NotFoundError:
            return
        raise AssertionError(f"{kb_id} was deleted and still answers")


def _letters(text: str) -> str:
    """Without white space, which chunkers may or may not keep at their cuts."""
    return "".join(text.split())
