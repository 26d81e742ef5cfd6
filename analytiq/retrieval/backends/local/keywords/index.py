"""The keyword index of one knowledge base: many readers through views, one writer at a time."""

import contextlib
import json
import struct
import zlib
from collections.abc import Collection, Generator, Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tantivy

from analytiq.errors import TransientError
from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.retrieval.backends.base import KeywordHit
from analytiq.retrieval.backends.local.keywords.bm25 import statistics_of
from analytiq.retrieval.backends.local.keywords.schema import LANGUAGE, Row, rows_of, schema, state_row
from analytiq.retrieval.backends.local.keywords.view import Base, View
from analytiq.retrieval.filters.selection import Selection
from analytiq.retrieval.terms.analysis import RELEASE
from analytiq.storage.repositories.index_contents import ChunkText

FORMAT = f"4, terms {RELEASE}, tantivy {version('tantivy')}"
"""Version of the files' format; indexes of another format are rebuilt."""
WRITER_BYTES = 48_000_000
"""Memory for unwritten terms: 30,000 chunks of 200 words. A small change uses far less."""
_FOOTER = struct.Struct("<II")
_FOOTER_MAGIC = 1337
_META = "meta.json"


class DamagedIndexError(TransientError):
    """Failure to read or write the files of an index; the index is rebuilt."""

    code = "lexical_index_damaged"


@dataclass(frozen=True, slots=True)
class State:
    """The identity of an index: knowledge base, epoch and release; stored inside it, so that a commit changes both."""

    format: str
    organization_id: str
    kb_id: str
    vectors_uuid: str
    epoch: int
    commit_id: str

    @classmethod
    def of(cls, knowledge_base: KnowledgeBase, epoch: Epoch) -> "State":
        """Return the state of a knowledge base at an epoch."""
        return cls(
            format=FORMAT,
            organization_id=knowledge_base.organization_id,
            kb_id=knowledge_base.id,
            vectors_uuid=knowledge_base.vectors_uuid,
            epoch=epoch.epoch,
            commit_id=epoch.commit_id,
        )

    def is_of(self, knowledge_base: KnowledgeBase) -> bool:
        """Return True if the state belongs to this knowledge base and this release."""
        return self == State.of(knowledge_base, self.at)

    @property
    def at(self) -> Epoch:
        """The index version of the state."""
        return Epoch(kb_id=self.kb_id, epoch=self.epoch, commit_id=self.commit_id)


class WordIndex:
    """A tantivy index in memory, or in a directory owned by this process. Its methods block."""

    def __init__(self, index: tantivy.Index) -> None:
        self._index = index
        self._index.config_reader("manual")
        self._writer: tantivy.IndexWriter | None = None

    @classmethod
    def opened(cls, directory: Path) -> "WordIndex":
        """Open the existing index.

        Raises:
            DamagedIndexError: the index is incomplete.
        """
        with _failures_told():
            require_whole(directory)
            return cls(tantivy.Index(schema(), str(directory)))  # which compares the schemas

    @classmethod
    def created(cls, directory: Path | None) -> "WordIndex":
        """Create an empty index in an empty directory, or in memory for None."""
        with _failures_told():
            return cls(tantivy.Index(schema(), None if directory is None else str(directory)))

    @property
    def state(self) -> State | None:
        """The identity of the index; None before the first commit."""
        with _failures_told():
            self._index.reload()
            searcher = self._index.searcher()
            found = searcher.search(tantivy.Query.term_query(schema(), "is_state", "true", "basic"), limit=1).hits
            if not found:
                return None
            stored = searcher.doc(found[0][1]).get_first("state")
            return State(**json.loads(bytes(stored or b"")))

    def view(self) -> View:
        """Return a view of the last commit."""
        with _failures_told():
            self._index.reload()
            searcher = self._index.searcher()
            languages = dict(searcher.terms_with_prefix(LANGUAGE, ""))
            return View(Base(schema(), searcher, languages, statistics_of(schema(), searcher)))

    def rows_of_generation(self, base: Base, generation_id: str) -> int:
        """Count the rows of a generation in a commit, removed ones that are not merged away included."""
        with _failures_told():
            return base.searcher.doc_freq("generation", generation_id)

    def add(self, chunks: Sequence[ChunkText], languages: dict[str, str]) -> None:
        """Add chunks, invisible until `commit`. `languages`: counts by generation id, which this call updates."""
        with _failures_told():
            for row in rows_of(chunks, languages):
                self._writing().add_document(row.document)

    def add_rows(self, rows: Iterable[Row]) -> None:
        """Add rows, invisible until `commit`."""
        with _failures_told():
            for row in rows:
                self._writing().add_document(row.document)

    def remove(self, generation_ids: Collection[str]) -> None:
        """Remove generations, still visible until `commit`; unknown generations are ignored."""
        with _failures_told():
            for generation_id in generation_ids:
                self._writing().delete_documents_by_term("generation", generation_id)

    def commit(self, state: State) -> None:
        """Make the changes durable and visible to later views."""
        with _failures_told():
            writer = self._writing()
            writer.delete_documents_by_term("is_state", "true")
            writer.add_document(state_row(json.dumps(asdict(state)).encode()))
            writer.commit()

    def discard(self) -> None:
        """Forget the changes since the last commit."""
        if self._writer is not None:
            with _failures_told():
                self._writer.rollback()

    def rest(self) -> None:
        """Wait for merges, then free the writer's threads and memory; the next change starts new ones."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with _failures_told():
                writer.wait_merging_threads()

    def abandon(self) -> None:
        """End all writing at once; uncommitted changes are lost."""
        self._writer = None

    def _writing(self) -> tantivy.IndexWriter:
        if self._writer is None:
            self._writer = self._index.writer(heap_size=WRITER_BYTES, num_threads=1)
        return self._writer


def require_whole(directory: Path) -> None:
    """Compare the checksums of all committed files.

    Raises:
        DamagedIndexError: names the damaged file.
    """
    with _failures_told():
        for path in _committed_files(directory):
            if not _is_whole(path):
                raise DamagedIndexError(f"{path.name} is damaged")


def searched(view: View, question: str, *, limit: int, selection: Selection | None) -> list[KeywordHit]:
    """Search a view.

    Raises:
        DamagedIndexError: its files cannot be read.
    """
    with _failures_told():
        return view.search(question, limit=limit, selection=selection)


@contextlib.contextmanager
def _failures_told() -> Generator[None]:
    """Translate the library's failures into errors; its panics are not subclasses of `Exception`."""
    try:
        yield
    except TransientError:
        raise
    except (OSError, ValueError, TypeError, KeyError, RuntimeError, SystemError) as error:
        raise _damaged(error) from error
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise _damaged(error) from error
        raise


def _damaged(error: BaseException) -> DamagedIndexError:
    return DamagedIndexError(f"the index of words cannot be used and is made anew ({type(error).__name__}: {error})")


def _committed_files(directory: Path) -> list[Path]:
    """Return the files named by the last commit; a process that died may have left unused, incomplete ones."""
    files: list[Path] = []
    meta = directory / _META
    segments: list[dict[str, Any]] = json.loads(meta.read_bytes())["segments"] if meta.exists() else []
    for segment in segments:
        name = str(segment["segment_id"]).replace("-", "")
        files += [path for path in directory.glob(f"{name}.*") if path.suffix != ".del"]
        if segment["deletes"]:
            files.append(directory / f"{name}.{segment['deletes']['opstamp']}.del")
    return files


def _is_whole(path: Path) -> bool:
    """Return True if the file matches the checksum in its tantivy footer."""
    content = path.read_bytes()
    if len(content) < _FOOTER.size:
        return False
    length, magic = _FOOTER.unpack(content[-_FOOTER.size :])
    end = len(content) - _FOOTER.size - length
    if magic != _FOOTER_MAGIC or end < 0:
        return False
    footer: dict[str, Any] = json.loads(content[end : -_FOOTER.size])
    return footer.get("crc") == zlib.crc32(memoryview(content)[:end])
