"""A plain model of people's actions: documents, knowledge bases, and their members. No queue, no race."""

from collections.abc import Iterable
from dataclasses import dataclass, field

Pair = tuple[str, str]
"""(knowledge base id, document id)."""


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of one version; `number` is its name within the run, which each of its lines repeats.

    `lines` 0: nothing but white space.
    """

    number: int
    lines: int

    @property
    def text(self) -> str:
        """Each line is just a chunk: no two lines of a run are alike."""
        if not self.lines:
            return " \n " + " " * self.number
        return "\n".join(
            f"Version {self.number} line {line} of {self.lines} says shared words." for line in range(self.lines)
        )


@dataclass(slots=True)
class DocumentTruth:
    """A document as its owner knows it. `contents`: its versions in the order of their commits."""

    organization_id: str
    name: str
    tag_ids: tuple[str, ...]
    contents: list[Content]
    metadata: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def content(self) -> Content:
        return self.contents[-1]


@dataclass(slots=True)
class KnowledgeBaseTruth:
    """A knowledge base as its owner knows it."""

    organization_id: str
    name: str
    tag_ids: tuple[str, ...]


@dataclass(slots=True, eq=False)  # two searches of the same moment are two
class Watch:
    """The facts that were true at any time, and all the time, since a search began."""

    kb_id: str
    members: set[str]
    """Documents that were a member at some time."""
    steady: set[str]
    """Documents that were findable when it began and have been members all the time, with text."""
    floor: dict[str, int]
    """Document → position of the newest version that had been seen when it began."""
    is_deleted: bool = False


class Model:
    """The truth, and what searches may show of it."""

    def __init__(self) -> None:
        self.documents: dict[str, DocumentTruth] = {}
        self.knowledge_bases: dict[str, KnowledgeBaseTruth] = {}
        self.seen: dict[Pair, int] = {}
        """Pair → position of the newest version that a search has shown; kept after the document has left."""
        self.findable: set[Pair] = set()
        """Pairs that a search has shown and that have been pairs ever since."""
        self.watches: list[Watch] = []

    def is_member(self, kb_id: str, document_id: str) -> bool:
        """Return True if they share a tag: exactly what the product promises."""
        kb, document = self.knowledge_bases.get(kb_id), self.documents.get(document_id)
        return (
            kb is not None
            and document is not None
            and kb.organization_id == document.organization_id
            and bool(set(kb.tag_ids) & set(document.tag_ids))
        )

    def members(self, kb_id: str) -> set[str]:
        return {document_id for document_id in self.documents if self.is_member(kb_id, document_id)}

    def indexed(self, kb_id: str) -> dict[str, Content]:
        """Document → version that is found once all work is done."""
        contents = {document_id: self.documents[document_id].content for document_id in self.members(kb_id)}
        return {document_id: content for document_id, content in contents.items() if content.lines}

    def changed(self) -> None:
        """To be called after every change: what has left need not be found any more."""
        self.findable = {pair for pair in self.findable if self._must_stay(pair)}
        for watch in self.watches:
            watch.members |= self.members(watch.kb_id)
            watch.steady = {item for item in watch.steady if self._must_stay((watch.kb_id, item))}
            watch.is_deleted |= watch.kb_id not in self.knowledge_bases

    def _must_stay(self, pair: Pair) -> bool:
        """A document that has become empty leaves as well, when its job has run."""
        return self.is_member(*pair) and all(content.lines for content in self._not_before(pair))

    def _not_before(self, pair: Pair) -> Iterable[Content]:
        return self.documents[pair[1]].contents[self.seen.get(pair, 0) :]

    def watch(self, kb_id: str) -> Watch:
        """Begin to note what a search that takes a while may show."""
        watch = Watch(
            kb_id,
            members=self.members(kb_id),
            steady={document_id for found_in, document_id in self.findable if found_in == kb_id},
            floor={document_id: at for (found_in, document_id), at in self.seen.items() if found_in == kb_id},
            is_deleted=kb_id not in self.knowledge_bases,
        )
        self.watches.append(watch)
        return watch
