"""One knowledge base's index: read by anybody through views, changed by one at a time."""

import contextlib
import json
import struct
import zlib
from collections.abc import Collection, Generator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tantivy

from analytiq.errors import TransientError
from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.retrieval.backends.base import KeywordHit
from analytiq.retrieval.backends.local.keywords.schema import LANGUAGE, row_of, schema, state_row
from analytiq.retrieval.backends.local.keywords.view import View, common_languages
from analytiq.retrieval.filters.selection import Selection
from analytiq.retrieval.terms.analysis import RELEASE, chunk_terms
from analytiq.storage.repositories.chunk_texts import ChunkText

FORMAT = f"1, terms {RELEASE}, tantivy {version('tantivy')}"
"""What the files mean; those of another meaning are made anew."""
WRITER_BYTES = 48_000_000
"""For terms that are not written yet: 30,000 chunks of 200 words. What is used by a small change is far less."""
_FOOTER = struct.Struct("<II")
_FOOTER_MAGIC = 1337
_META = "meta.json"


class DamagedIndexError(TransientError):
    """The files of an index cannot be read or written; it is made anew."""

    code = "lexical_index_damaged"


@dataclass(frozen=True, slots=True)
class State:
    """What an index is an index of; kept in the index itself, so that it changes in the same commit."""

    format: str
    organization_id: str
    kb_id: str
    vectors_uuid: str
    epoch: int
    commit_id: str

    @classmethod
    def of(cls, knowledge_base: KnowledgeBase, epoch: Epoch) -> "State":
        """The state of a knowledge base at an epoch."""
        return cls(
            format=FORMAT,
            organization_id=knowledge_base.organization_id,
            kb_id=knowledge_base.id,
            vectors_uuid=knowledge_base.vectors_uuid,
            epoch=epoch.epoch,
            commit_id=epoch.commit_id,
        )

    def is_of(self, knowledge_base: KnowledgeBase) -> bool:
        """Whether it is of this very knowledge base, and of this release."""
        return self == State.of(knowledge_base, self.at)

    @property
    def at(self) -> Epoch:
        """The epoch that the index is at."""
        return Epoch(kb_id=self.kb_id, epoch=self.epoch, commit_id=self.commit_id)


class WordIndex:
    """An index of tantivy's in a directory that is this process's alone, or in memory. Its methods block."""

    def __init__(self, index: tantivy.Index) -> None:
        self._index = index
        self._index.config_reader("manual")
        self._writer: tantivy.IndexWriter | None = None

    @classmethod
    def opened(cls, directory: Path) -> "WordIndex":
        """The index that is there.

        Raises:
            DamagedIndexError: it is not whole.
        """
        with _failures_told():
            require_whole(directory)
            return cls(tantivy.Index(schema(), str(directory)))  # which compares the schemas

    @classmethod
    def created(cls, directory: Path | None) -> "WordIndex":
        """An empty index in an empty directory, or (None) in memory."""
        with _failures_told():
            return cls(tantivy.Index(schema(), None if directory is None else str(directory)))

    @property
    def state(self) -> State | None:
        """What it is an index of; None where nothing was committed."""
        with _failures_told():
            self._index.reload()
            searcher = self._index.searcher()
            found = searcher.search(tantivy.Query.term_query(schema(), "is_state", "true", "basic"), limit=1).hits
            if not found:
                return None
            stored = searcher.doc(found[0][1]).get_first("state")
            return State(**json.loads(bytes(stored or b"")))

    def view(self) -> View:
        """What was committed last."""
        with _failures_told():
            self._index.reload()
            searcher = self._index.searcher()
            return View(schema(), searcher, common_languages(searcher.terms_with_prefix(LANGUAGE, "")))

    def add(self, chunks: Sequence[ChunkText], languages: dict[str, str]) -> None:
        """Add chunks, unseen until `commit`. `languages`: generation id → what its chunks so far were in, kept here."""
        with _failures_told():
            writer = self._writing()
            for chunk in chunks:
                terms = chunk_terms(chunk.text, language=languages.get(chunk.generation_id))
                if terms.language is not None:
                    languages[chunk.generation_id] = terms.language
                writer.add_document(row_of(chunk, terms))

    def remove(self, generation_ids: Collection[str]) -> None:
        """Remove generations, unseen until `commit`; those that are not there are no error."""
        with _failures_told():
            for generation_id in generation_ids:
                self._writing().delete_documents_by_term("generation", generation_id)

    def commit(self, state: State) -> None:
        """Make the changes durable, and seen by the views that follow."""
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
        """Wait until merges are done, and give the writer's threads and memory back; the next change gets others."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with _failures_told():
                writer.wait_merging_threads()

    def abandon(self) -> None:
        """End all writing at once; what was not committed is lost."""
        self._writer = None

    def _writing(self) -> tantivy.IndexWriter:
        if self._writer is None:
            self._writer = self._index.writer(heap_size=WRITER_BYTES, num_threads=1)
        return self._writer


def require_whole(directory: Path) -> None:
    """Compare the checksums of all that was committed.

    Raises:
        DamagedIndexError: says which file is damaged.
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
    """Say of every failure of the library's what it means; a panic in it is no `Exception`."""
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
    """Those that the last commit names; a process that died may have left others, half written, which nobody reads."""
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
    """Whether a file is as tantivy wrote it: it ends with a description of itself that has its checksum."""
    content = path.read_bytes()
    if len(content) < _FOOTER.size:
        return False
    length, magic = _FOOTER.unpack(content[-_FOOTER.size :])
    end = len(content) - _FOOTER.size - length
    if magic != _FOOTER_MAGIC or end < 0:
        return False
    footer: dict[str, Any] = json.loads(content[end : -_FOOTER.size])
    return footer.get("crc") == zlib.crc32(memoryview(content)[:end])
