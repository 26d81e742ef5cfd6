"""The local index of words beside tantivy alone, and beside bm25s where that is installed.

    python -m benchmarks.words [--short] [--chunks 10000 100000] [--queries 200]

Made-up texts of 150 words in documents of 50 chunks, questions of eight words of one text; the best ten and the best
hundred (what a hybrid search asks for). `ours` is the whole index (`analytiq.lexical`): languages, stems, codes,
filters by document, ties in order. `tantivy` is the library with its English analyzer, a filter on a number of its own.
The three are asked in turns in one process; ratios are of processor time.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tantivy

from analytiq.lexical.local.index import WordIndex
from analytiq.models.filter import BuiltInField, In
from analytiq.models.selection import ChunkFilter, DocumentSet
from analytiq.mongo.repositories.chunk_texts import ChunkText
from benchmarks import report
from benchmarks.made_up_texts import questions, texts

CHUNKS_PER_DOCUMENT = 50
LIMITS = (10, 100)
SHARES = {"all": 100, "10 %": 10, "1 %": 1}
"""Name of a filter → percent of the documents that pass it."""

Ask = Callable[[str, int, str], int]
"""Question, limit and filter → how many were found."""


@dataclass(slots=True)
class Index:
    """One of those that are compared; `build_s`: seconds of processor time."""

    name: str
    ask: Ask
    build_s: float
    filters: tuple[str, ...] = tuple(SHARES)
    milliseconds: list[float] = field(default_factory=list[float])


def ours(passages: Sequence[str], directory: Path) -> Index:
    """The index of the product, in a directory."""
    begin = time.process_time()
    index = WordIndex(directory)
    writing = index.writing()
    documents = [f"{number:024x}" for number in range(len(passages) // CHUNKS_PER_DOCUMENT)]
    for place, text in enumerate(passages):
        document_id = documents[place // CHUNKS_PER_DOCUMENT]
        writing.add([ChunkText(document_id, document_id, place % CHUNKS_PER_DOCUMENT, 1, 1, text)])
    writing.commit()
    index.reload()
    spent = time.process_time() - begin
    wanted: dict[str, ChunkFilter | None] = {"all": None}
    for name, percent in list(SHARES.items())[1:]:
        ids = tuple(documents[: len(documents) * percent // 100])
        wanted[name] = ChunkFilter(In(BuiltInField.DOCUMENT_ID, ids), DocumentSet(frozenset(ids)))

    def ask(question: str, limit: int, name: str) -> int:
        return len(index.search(question, limit=limit, chunk_filter=wanted[name]))

    return Index("ours", ask, spent)


def tantivy_alone(passages: Sequence[str], directory: Path) -> Index:
    """Its own English analyzer, scores and addresses only."""
    begin = time.process_time()
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", tokenizer_name="en_stem", index_option="freq")
    builder.add_integer_field("document", indexed=True, fast=True)
    schema = builder.build()
    directory.mkdir()
    index = tantivy.Index(schema, str(directory))
    writer = index.writer(heap_size=30_000_000, num_threads=1)
    for place, text in enumerate(passages):
        document = tantivy.Document()
        document.add_text("text", text)
        document.add_integer("document", place // CHUNKS_PER_DOCUMENT)
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    spent = time.process_time() - begin
    documents = len(passages) // CHUNKS_PER_DOCUMENT

    def ask(question: str, limit: int, name: str) -> int:
        query = index.parse_query(question, ["text"])
        if name != "all":
            last = documents * SHARES[name] // 100 - 1
            passing = tantivy.Query.range_query(schema, "document", tantivy.FieldType.Integer, 0, last)
            clauses = [(tantivy.Occur.Must, query), (tantivy.Occur.Must, tantivy.Query.const_score_query(passing, 0.0))]
            query = tantivy.Query.boolean_query(clauses)
        return len(searcher.search(query, limit=limit, count=False).hits)

    return Index("tantivy", ask, spent)


def bm25s_alone(passages: Sequence[str]) -> Index | None:
    """With its own tokenizer, without a stemmer and without filters; None where it is not installed."""
    try:
        import bm25s  # pyright: ignore[reportMissingImports]
    except ImportError:
        print("bm25s is not installed, so it is not measured")
        return None
    library: Any = bm25s
    begin = time.process_time()
    retriever = library.BM25()
    retriever.index(library.tokenize(list(passages), show_progress=False), show_progress=False)
    spent = time.process_time() - begin

    def ask(question: str, limit: int, name: str) -> int:
        del name
        tokens = library.tokenize([question], show_progress=False)
        found, _ = retriever.retrieve(tokens, k=limit, show_progress=False)
        return int(np.asarray(found).size)

    return Index("bm25s", ask, spent, filters=("all",))


def measure(indexes: Sequence[Index], asked: Sequence[str], limit: int, name: str) -> None:
    """Ask every question of each in turns."""
    for index in indexes:
        index.milliseconds = []
    for question in asked:
        for index in indexes:
            if name in index.filters:
                begin = time.process_time()
                found = index.ask(question, limit, name)
                index.milliseconds.append((time.process_time() - begin) * 1000)
                if not found:
                    raise SystemExit(f"{index.name} finds nothing for {question!r}; what it measures is worth nothing")


def measure_size(chunks: int, query_count: int) -> list[list[str]]:
    """The rows of one size."""
    passages = list(texts(chunks))
    asked = questions(passages[: chunks // 100], query_count)  # of documents that pass every filter
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory(prefix="analytiq-words-") as directory:
        built = [ours(passages, Path(directory) / "ours"), tantivy_alone(passages, Path(directory) / "tantivy")]
        indexes = [*built, *([found] if (found := bm25s_alone(passages)) else [])]
        for limit in LIMITS:
            for name in SHARES:
                measure(indexes, asked, limit, name)
                least = report.median(indexes[1].milliseconds)
                for index in indexes:
                    if index.milliseconds:
                        spent = report.median(index.milliseconds)
                        rows.append(
                            [f"{chunks:,}", index.name, str(limit), name, f"{spent:.2f}",
                             f"{report.percentile(index.milliseconds, 0.95):.2f}", f"{spent / least:.2f}",
                             f"{index.build_s:.1f}"]
                        )  # fmt: skip
    return rows


def main(argv: Sequence[str] | None = None) -> None:
    """Read the options, measure and print."""
    parser = report.arguments("The local index of words beside others.", repeats=1)
    parser.add_argument("--chunks", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--queries", type=int, default=200)
    options: argparse.Namespace = parser.parse_args(argv)
    if options.short:
        options.chunks, options.queries = [10_000], 50
    report.print_heading(f"Index of words, processor milliseconds a question, n = {options.queries} questions")
    rows = [row for chunks in options.chunks for row in measure_size(chunks, options.queries)]
    report.print_table(("chunks", "", "limit", "filter", "p50", "p95", "p50 to tantivy", "build CPU-s"), rows)


if __name__ == "__main__":
    main()
