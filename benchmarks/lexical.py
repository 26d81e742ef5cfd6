"""Keyword search: speed compared with tantivy alone, and bm25s if installed. `benchmarks.retrieval` measures quality.

    python -m benchmarks.lexical [--short] [--chunks 10000 100000] [--queries 200]

`tantivy` has the same texts in one field of its English analyzer, and the same questions. `index` is a view of
the local index, with ids and ties in order. Both are asked alternately. Chunks have about 120 words of a
generated language, half of them English stop words; documents have five chunks. `from MongoDB`: the build, from an
empty directory; `after a commit`: from the end of a commit that replaces a document to the answer of a search for it.
"""

import argparse
import asyncio
import importlib
import importlib.util
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import tantivy

from analytiq import clock
from analytiq.models.index_entry import IndexEntry
from analytiq.models.knowledge_base import Epoch, KnowledgeBase, KnowledgeBaseStatus
from analytiq.models.vector import VectorOwner, VectorRow
from analytiq.retrieval.backends.base import KeywordHit
from analytiq.retrieval.backends.local.keywords.index import FORMAT, State, WordIndex, searched
from analytiq.retrieval.backends.local.keywords.store import LocalLexicalIndex
from analytiq.retrieval.backends.local.keywords.view import View
from analytiq.retrieval.filters.selection import DocumentSet
from analytiq.retrieval.terms.languages import ENGLISH, STOP_WORDS
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.epochs import EpochRepository
from analytiq.storage.repositories.index_contents import ChunkText, IndexContentRepository
from analytiq.storage.repositories.index_entries import IndexEntryRepository
from analytiq.storage.repositories.vectors import VectorRepository
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction
from benchmarks import report
from benchmarks.corpus import SEED
from benchmarks.platform_under_test import Server, platform, running_server

CHUNKS_PER_DOCUMENT = 5
WORDS_A_CHUNK = 120
WORDS_A_QUESTION = 6
TOP_K = 10
SHARES = {"all": 1.0, "50 %": 0.5, "10 %": 0.1, "1 %": 0.01, "one document": 0.0}
_STATE = State(FORMAT, "", "", "", 1, "")
_SYLLABLES = tuple(consonant + vowel for consonant in "bdfghklmnprstvz" for vowel in "aeiou")


@dataclass(frozen=True, slots=True)
class Made:
    """Chunks and questions of a generated language, the same at every run."""

    chunks: list[ChunkText]
    questions: list[str]

    @property
    def document_ids(self) -> list[str]:
        """The ids of documents, in order."""
        return list(dict.fromkeys(chunk.document_id for chunk in self.chunks))

    def selection_of(self, share: float) -> DocumentSet | None:
        """Return a share of the documents, at least one; None for all."""
        ids = self.document_ids
        return (
            None if share >= 1 else DocumentSet(frozenset(random.Random(SEED).sample(ids, int(share * len(ids)) or 1)))
        )


def made_up(count: int, questions: int) -> Made:
    """Generate texts with word frequencies of a natural language; every second word is a stop word."""
    source = random.Random(SEED)
    words = ["".join(source.choices(_SYLLABLES, k=source.randint(2, 4))) for _ in range(60_000)]
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(words))))
    stop_words = STOP_WORDS[ENGLISH].split()[:60]

    def text(length: int) -> str:
        said = source.choices(words, cum_weights=weights, k=length)
        return " ".join(word for pair in zip(said, source.choices(stop_words, k=length), strict=True) for word in pair)

    chunks = [
        ChunkText(
            f"{number // CHUNKS_PER_DOCUMENT:024x}",
            f"{number // CHUNKS_PER_DOCUMENT:024x}",
            number % CHUNKS_PER_DOCUMENT,
            1,
            1,
            text(WORDS_A_CHUNK // 2),
        )
        for number in range(count)
    ]
    return Made(
        chunks, [" ".join(source.choices(words, cum_weights=weights, k=WORDS_A_QUESTION)) for _ in range(questions)]
    )


class Raw:
    """tantivy's own English analyzer alone."""

    def __init__(self, made: Made, directory: Path) -> None:
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("text", tokenizer_name="en_stem", index_option="freq")
        builder.add_integer_field("number", fast=True)
        self._schema = builder.build()
        index = tantivy.Index(self._schema, str(directory))
        writer = index.writer(heap_size=48_000_000, num_threads=1)
        begin = perf_counter()
        for number, chunk in enumerate(made.chunks):
            document = tantivy.Document()
            document.add_text("text", chunk.text)
            document.add_integer("number", number)
            writer.add_document(document)
        writer.commit()
        self.build_seconds = perf_counter() - begin
        writer.wait_merging_threads()
        index.reload()
        self._searcher = index.searcher()
        self._analyzer = (
            tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
            .filter(tantivy.Filter.lowercase())
            .filter(tantivy.Filter.stemmer(ENGLISH))
            .build()
        )

    def search(self, question: str) -> list[int | float | bool | None]:
        """Return the numbers of the best chunks."""
        terms = self._analyzer.analyze(question)
        clauses = [
            (tantivy.Occur.Should, tantivy.Query.term_query(self._schema, "text", term, "freq")) for term in terms
        ]
        hits = self._searcher.search(tantivy.Query.boolean_query(clauses), limit=TOP_K, count=False).hits
        return self._searcher.fast_field_values("number", [address for _, address in hits])


def built(made: Made, directory: Path) -> tuple[View, float, float]:
    """Return a view of the chunks, and the wall and processor seconds of building it."""
    index = WordIndex.created(directory)
    begin, begin_processor = perf_counter(), process_time()
    languages: dict[str, str] = {}
    for start in range(0, len(made.chunks), 1000):
        index.add(made.chunks[start : start + 1000], languages)
    index.commit(_STATE)
    seconds, processor = perf_counter() - begin, process_time() - begin_processor
    index.rest()
    return index.view(), seconds, processor


def measure_size(made: Made, root: Path) -> tuple[list[str], list[list[str]]]:
    """Measure building, and searching by filter; n = every question once."""
    directories = [root / name for name in ("raw", "index")]
    for directory in directories:
        directory.mkdir()
    raw = Raw(made, directories[0])
    view, seconds, processor = built(made, directories[1])
    sizes = [sum(file.stat().st_size for file in directory.iterdir()) for directory in directories]
    count = len(made.chunks)
    rates = [f"{count / raw.build_seconds:,.0f}", f"{count / seconds:,.0f}", f"{count / processor:,.0f}"]
    building = [f"{count:,}", *rates, *(f"{size / 1e6:.0f}" for size in sizes)]
    rows: list[list[str]] = []
    for name, share in SHARES.items():
        selection = made.selection_of(share)
        plain: list[float] = []
        ours: list[float] = []
        for question in made.questions:
            begin = perf_counter()
            raw.search(question)
            middle = perf_counter()
            searched(view, question, limit=TOP_K, selection=selection)
            ours.append((perf_counter() - middle) * 1000)
            plain.append((middle - begin) * 1000)
        ratio = f"{report.median(ours) / report.median(plain):.1f}x"
        rows.append([f"{count:,}", name, _cell(plain), _cell(ours), ratio])
    return building, rows


def measure_identical(count: int) -> str:
    """Measure the milliseconds to find one document among chunks with equal texts."""
    chunks = [ChunkText(f"{number:024x}", f"{number:024x}", 0, 1, 1, "the same sentence") for number in range(count)]
    view, _, _ = built(Made(chunks, []), Path(tempfile.mkdtemp()))
    wanted = f"{count // 2:024x}"
    spent: list[float] = []
    for _ in range(20):
        begin = perf_counter()
        hits = searched(view, "sentence", limit=1, selection=DocumentSet(frozenset({wanted})))
        spent.append((perf_counter() - begin) * 1000)
        assert [hit.document_id for hit in hits] == [wanted]
    return f"{report.median(spent):.2f}"


def measure_bm25s(made: Made) -> list[str] | None:
    """Measure bm25s with its own tokenizer, without numba; return None if it is not installed."""
    if importlib.util.find_spec("bm25s") is None:
        return None
    bm25s: Any = importlib.import_module("bm25s")  # no dependency of ours
    begin = perf_counter()
    retriever = bm25s.BM25()
    retriever.index(bm25s.tokenize([chunk.text for chunk in made.chunks], show_progress=False), show_progress=False)
    seconds = perf_counter() - begin
    spent: list[float] = []
    for question in made.questions:
        begin = perf_counter()
        retriever.retrieve(bm25s.tokenize(question, show_progress=False), k=TOP_K, show_progress=False)
        spent.append((perf_counter() - begin) * 1000)
    return [f"{len(made.chunks):,}", f"{len(made.chunks) / seconds:,.0f}", _cell(spent)]


class Stored:
    """A knowledge base in MongoDB with texts alone."""

    def __init__(self, connection: MongoConnection, knowledge_base: KnowledgeBase) -> None:
        self._connection = connection
        self.knowledge_base = knowledge_base
        self._vectors = VectorRepository(connection)
        self._entries = IndexEntryRepository(connection)
        self._epochs = EpochRepository(connection)

    @classmethod
    async def created(cls, connection: MongoConnection) -> "Stored":
        """Create an empty one."""
        now, kb_id = clock.now(), new_id()
        knowledge_base = KnowledgeBase(
            id=kb_id,
            organization_id=new_id(),
            name="Benchmark",
            description="",
            tag_ids=(),
            chunker_type="token",
            chunk_size=256,
            chunk_overlap=0,
            embedding_model="",
            embedding_dimensions=1,
            coalesce_neighbors=0,
            status=KnowledgeBaseStatus.ACTIVE,
            vectors_uuid=await VectorRepository(connection).create_collection(kb_id),
            created_at=now,
            updated_at=now,
        )
        stored = cls(connection, knowledge_base)

        async def create(session: Session) -> None:
            await EpochRepository(connection).create(session, kb_id, new_id())

        await run_in_transaction(connection, create)
        return stored

    async def epoch(self) -> Epoch:
        """Return the present epoch."""
        epoch = await self._epochs.read(self.knowledge_base.id)
        assert epoch is not None
        return epoch

    async def put(self, document_id: str, texts: Sequence[str]) -> None:
        """Stage and commit a document's chunks, replacing the former ones."""
        kb, now, generation_id = self.knowledge_base, clock.now(), new_id()
        owner = VectorOwner(kb.organization_id, kb.id, kb.vectors_uuid, document_id, generation_id, {}, now)
        rows = [
            VectorRow(index, "", text, np.ones(1, np.float32), 1, 0, len(text), 1, 1)
            for index, text in enumerate(texts)
        ]
        await self._vectors.stage(owner, rows)
        entry = IndexEntry(
            organization_id=kb.organization_id,
            kb_id=kb.id,
            document_id=document_id,
            generation_id=generation_id,
            text_hash="",
            configuration_hash="",
            chunk_count=len(rows),
            indexed_at=now,
        )

        async def commit(session: Session) -> None:
            before = await self._entries.put(session, entry)
            removed = before.generation_id if before else None
            await self._epochs.advance(session, kb.id, commit_id=new_id(), added=generation_id, removed=removed)

        await run_in_transaction(self._connection, commit)


async def measure_whole_way(server: Server, made: Made, commits: int) -> list[str]:
    """Measure building from MongoDB, a restart, and the delay until a commit is found."""
    async with platform(server, "lexical") as target:
        connection = target.services.connection
        stored = await Stored.created(connection)
        for start in range(0, len(made.chunks), 500):
            await stored.put(f"{start:024x}", [chunk.text for chunk in made.chunks[start : start + 500]])
        with tempfile.TemporaryDirectory(prefix="analytiq-lexical-") as directory:

            async def search(index: LocalLexicalIndex, question: str) -> list[KeywordHit]:
                return await index.search(
                    stored.knowledge_base, await stored.epoch(), question, limit=TOP_K, chunk_filter=None
                )

            def process() -> LocalLexicalIndex:
                texts = IndexContentRepository(connection)
                return LocalLexicalIndex(texts, Path(directory), disk_bytes=2**34, build_wait_seconds=600.0)

            index = process()
            begin = perf_counter()
            await search(index, made.questions[0])
            build_seconds = perf_counter() - begin
            spent: list[float] = []
            for number in range(commits):
                await stored.put("f" * 24, [f"commit{number}"])
                begin = perf_counter()
                assert await search(index, f"commit{number}")
                spent.append((perf_counter() - begin) * 1000)
            await index.close()
            index = process()
            begin = perf_counter()
            await search(index, made.questions[0])
            restart_seconds = perf_counter() - begin
            await index.close()
    count = len(made.chunks)
    return [f"{count:,}", f"{count / build_seconds:,.0f}", f"{restart_seconds:.2f}", _cell(spent)]


def _cell(values: Sequence[float]) -> str:
    return f"{report.median(values):.2f} / {report.percentile(values, 0.95):.2f}"


async def run(options: argparse.Namespace) -> None:
    """Measure and print."""
    report.print_heading(f"Search by words, {options.queries} questions, ms as p50 / p95; tantivy's binding {FORMAT}")
    building: list[list[str]] = []
    latency: list[list[str]] = []
    others: list[list[str]] = []
    for count in options.chunks:
        made = made_up(count, options.queries)
        with tempfile.TemporaryDirectory(prefix="analytiq-lexical-") as directory:
            row, rows = measure_size(made, Path(directory))
        building.append(row)
        latency += rows
        if (other := measure_bm25s(made)) is not None:
            others.append(other)
    rates = ("tantivy, chunks/s", "index, chunks/s", "index, chunks/CPU-s", "tantivy MB", "index MB")
    report.print_table(("chunks", *rates), building)
    print()
    report.print_table(("chunks", "filter", "tantivy, all", "index", "index to tantivy"), latency)
    if others:
        print()
        report.print_table(("chunks", "bm25s, chunks/s", "bm25s"), others)
    print(f"\none document among {options.chunks[-1]:,} identical chunks: {measure_identical(options.chunks[-1])} ms\n")
    async with running_server() as server:
        rows = [
            await measure_whole_way(server, made_up(count, 1), 10 if options.short else 50) for count in options.chunks
        ]
    report.print_table(("chunks", "from MongoDB, chunks/s", "restart in s", "after a commit"), rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark; see the module."""
    parser = report.arguments((__doc__ or "").splitlines()[0], repeats=1)
    parser.add_argument("--chunks", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--queries", type=int, default=200)
    options = parser.parse_args(arguments)
    if options.short:
        options.chunks, options.queries = [2_000], 30
    asyncio.run(run(options))


if __name__ == "__main__":
    main()
