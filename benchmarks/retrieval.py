"""Retrieval quality: nDCG@10 and recall@100 by mode, of collections with relevance judgements.

    make eval-retrieval COLLECTIONS=DIRECTORY [EVALUATION_ARGUMENTS="--collection scifact --questions 100"]
    python -m benchmarks.retrieval DIRECTORY [--collection NAME …] [--questions N] [--documents N] [--half 0]
        [--modes all] [--chunkers NAME …] [--context off on] [--model MODEL] [--keep DATA_DIRECTORY]

The whole platform answers: an embedded mongod, each document of a collection uploaded as one text file, extracted,
chunked by each named chunker (else the default one), with or without context, and embedded by the default model in real
jobs, and every question put to the search service. Documents are ranked by their best passage. `DIRECTORY` contains
collections (`benchmarks.judged_collection` describes their layout) or is one. With `--keep`, the data stays, and the
next run embeds nothing again.
"""

import argparse
import asyncio
import math
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar
from urllib.parse import quote

from analytiq.ingestion.chunking.registry import DEFAULT_CHUNKER
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.upload import DuplicatePolicy
from analytiq.retrieval.pipeline.request import Fusion, Mode, Preset, SearchRequest
from benchmarks import report
from benchmarks.judged_collection import JudgedCollection, collections_in, read_collection
from benchmarks.platform_under_test import Platform, platform, running_server, tag_named, working
from benchmarks.ranking_measures import ndcg_at, recall_at

NDCG_DEPTH = 10
RECALL_DEPTH = 100
PASSAGES = 150
"""Passages requested at once; if they come from fewer than 100 documents, more are requested."""
MOST_PASSAGES = 1000
AT_ONCE = 4
PROGRESS_SECONDS = 5.0
CHUNK_SIZE, CHUNK_OVERLAP = 512, 128
"""The API's defaults."""
_ANY = SearchRequest("", top_k=PASSAGES, coalesce_neighbors=0)
MODES: Mapping[str, SearchRequest] = {
    "vector": replace(_ANY, mode=Mode.VECTOR),
    "lexical": replace(_ANY, mode=Mode.LEXICAL),
    "hybrid, weighted": replace(_ANY, mode=Mode.HYBRID),
    "hybrid, RRF": replace(_ANY, mode=Mode.HYBRID, fusion=Fusion.RRF),
    "hybrid, alpha 0.5": replace(_ANY, mode=Mode.HYBRID, alpha=0.5),
    "hybrid, duplicates kept": replace(_ANY, mode=Mode.HYBRID, deduplicate=False),
    "preset fast_vector": replace(_ANY, preset=Preset.FAST_VECTOR),
    "preset hybrid, not reranked": replace(_ANY, preset=Preset.HYBRID_WITHOUT_HYDE, rerank=False),
}
LEGS = ("vector", "lexical")
HYBRID = "hybrid, weighted"
USUAL = (*LEGS, HYBRID, "hybrid, RRF")

T = TypeVar("T")


@dataclass(slots=True)
class Quality:
    """The results of one mode on one collection: one value for each question."""

    ndcg: list[float] = field(default_factory=list[float])
    first_ranks: list[int | None] = field(default_factory=list[int | None])
    """Rank of the first relevant document, from 1."""
    recall: list[float] = field(default_factory=list[float])
    vector_weights: list[float] = field(default_factory=list[float])
    milliseconds: list[float] = field(default_factory=list[float])

    @property
    def mean_ndcg(self) -> float:
        """The mean nDCG@10."""
        return math.fsum(self.ndcg) / len(self.ndcg)

    def hit_at(self, depth: int) -> float:
        """Return the share of questions with a relevant document among the first."""
        return sum(rank is not None and rank <= depth for rank in self.first_ranks) / len(self.first_ranks)

    @property
    def mean_recall(self) -> float:
        """The mean recall@100."""
        return math.fsum(self.recall) / len(self.recall)


@dataclass(frozen=True, slots=True)
class Variant:
    """The settings of knowledge bases that are compared."""

    chunker: str
    context: bool

    def __str__(self) -> str:
        return f"{self.chunker}, context {'on' if self.context else 'off'}"


@dataclass(frozen=True, slots=True)
class Indexed:
    """A collection in one knowledge base. `ids`: the platform's id of a document → the collection's."""

    target: Platform
    knowledge_base: KnowledgeBase
    ids: Mapping[str, str]


async def ingest(
    target: Platform,
    collection: JudgedCollection,
    variants: Sequence[Variant],
    *,
    model: str | None,
    slots: int,
) -> dict[Variant, Indexed]:
    """Upload every document and wait until all are searchable in each knowledge base; keep existing ones."""
    # Kept data may have the same collection with fewer documents, or another model's.
    label = f"{collection.name}, {len(collection.documents)} documents"
    tag = await tag_named(target.services, target.organization, label)
    knowledge_bases = {
        variant: await target.knowledge_base_named(
            f"{label}, {model or 'default model'}, {variant}",
            tag,
            model=model,
            chunk_size=CHUNK_SIZE,
            chunk_overlap=CHUNK_OVERLAP,
            chunker=variant.chunker,
            context=variant.context,
        )
        for variant in variants
    }
    ids: dict[str, str] = {}

    async def upload(item: tuple[str, str]) -> None:
        original, text = item
        staged = await target.services.ingestion.uploads.stage(
            target.organization.id,
            document_name=quote(f"{label}: {original}.txt", safe=" ,:-."),
            content_type="text/plain; charset=utf-8",
            source=_blocks(text.encode()),
        )
        done = await target.services.ingestion.uploads.commit(
            staged, tag_ids=[tag.id], metadata={}, policy=DuplicatePolicy.RETURN
        )
        ids[done.document.id] = original

    async with working(target.services, slots=slots):
        progress = Progress(f"{collection.name}: uploaded", len(collection.documents))
        await _all(collection.documents.items(), upload, progress)
        for variant, knowledge_base in knowledge_bases.items():
            await _until_indexed(target, knowledge_base, Progress(f"{collection.name}: indexed, {variant}", len(ids)))
    return {variant: Indexed(target, one, ids) for variant, one in knowledge_bases.items()}


async def _blocks(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def _until_indexed(target: Platform, knowledge_base: KnowledgeBase, progress: "Progress") -> None:
    waiting = asyncio.create_task(target.until_idle())
    while not waiting.done():
        await asyncio.wait([waiting], timeout=PROGRESS_SECONDS / 5)
        _, count = await target.services.ingestion.knowledge_bases.documents(
            target.organization.id, knowledge_base.id, skip=0, limit=1
        )
        progress.at(count)
    await waiting
    if progress.count < progress.total:
        raise SystemExit(
            f"{progress.count} of {progress.total} documents are indexed; what it measures is worth nothing"
        )


async def measure(indexed: Indexed, collection: JudgedCollection, mode: str, *, name: str) -> Quality:
    """Ask every question in one mode."""
    quality = Quality()

    async def ask(item: tuple[str, str]) -> None:
        one, text = item
        ranking = await _ranking(indexed, replace(MODES[mode], query=text), quality)
        quality.ndcg.append(ndcg_at(NDCG_DEPTH, ranking, collection.grades[one]))
        relevant = (rank for rank, found in enumerate(ranking, start=1) if collection.grades[one].get(found, 0) > 0)
        quality.first_ranks.append(next(relevant, None))
        quality.recall.append(recall_at(RECALL_DEPTH, ranking, collection.grades[one]))

    await _all(collection.questions.items(), ask, Progress(f"{name}: asked, {mode}", len(collection.questions)))
    return quality


async def _ranking(indexed: Indexed, request: SearchRequest, quality: Quality) -> list[str]:
    """Return the collection's documents in the order of their best passages, at least 100 if there are as many."""
    documents: dict[str, None] = {}
    services, organization = indexed.target.services, indexed.target.organization
    for skip in range(0, MOST_PASSAGES - PASSAGES + 1, PASSAGES):
        begin = perf_counter()
        answer = await services.retrieval.search.search(
            organization, indexed.knowledge_base.id, replace(request, skip=skip)
        )
        if answer.degraded:
            lacking = answer.degraded[0]
            raise SystemExit(f"{lacking.step} failed ({lacking.detail}); what it measures is worth nothing")
        if skip == 0:
            quality.milliseconds.append((perf_counter() - begin) * 1000)
            quality.vector_weights += [answer.weights.vector] if answer.weights else []
        documents |= dict.fromkeys(indexed.ids[result.document_id] for result in answer.results)
        if len(documents) >= RECALL_DEPTH or len(answer.results) < PASSAGES:
            break
    return list(documents)


class Progress:
    """Prints progress on standard error every few seconds."""

    def __init__(self, name: str, total: int) -> None:
        self.name, self.total, self.count = name, total, 0
        self._begin = self._said = perf_counter()

    def at(self, count: int) -> None:
        """Report the number done."""
        self.count = count
        now = perf_counter()
        if now - self._said >= PROGRESS_SECONDS or (count == self.total and self._said > self._begin):
            self._said = now
            rate = count / max(now - self._begin, 1e-9)
            print(f"  {self.name} {count:,} of {self.total:,}, {rate:.0f}/s", file=sys.stderr, flush=True)


async def _all(items: Iterable[T], work: Callable[[T], Coroutine[Any, Any, None]], progress: Progress) -> None:
    """Run the work a few at a time, as a client with several connections does."""
    remaining = iter(items)

    async def lane() -> None:
        for item in remaining:
            await work(item)
            progress.at(progress.count + 1)

    await asyncio.gather(*(lane() for _ in range(AT_ONCE)))


def print_closing(qualities: Mapping[str, Mapping[str, Quality]], modes: Sequence[str]) -> None:
    """Print the table by collection and mode, and the gain of fusion."""
    rows = [
        [
            collection,
            mode,
            f"{quality.hit_at(1):.3f}",
            f"{quality.hit_at(5):.3f}",
            f"{quality.mean_ndcg:.3f}",
            f"{quality.mean_recall:.3f}",
            f"{math.fsum(quality.vector_weights) / len(quality.vector_weights):.2f}" if quality.vector_weights else "",
            f"{report.median(quality.milliseconds):.0f}",
        ]
        for collection, by_mode in qualities.items()
        for mode, quality in by_mode.items()
    ]
    print()
    ms = "p50 ms for 150 passages"
    header = ("collection", "mode", "hit@1", "hit@5", "nDCG@10", "recall@100", "vector's weight, mean", ms)
    report.print_table(header, rows)
    if {*LEGS, HYBRID} <= set(modes):
        print()
        for collection, by_mode in qualities.items():
            legs = {leg: by_mode[leg].mean_ndcg for leg in LEGS}
            better = max(legs, key=lambda leg: legs[leg])
            gain = by_mode[HYBRID].mean_ndcg - legs[better]
            verdict = "at least as good" if gain >= 0 else "WORSE"
            print(f"{collection}: hybrid is {verdict}: {gain:+.4f} nDCG@10 to the better leg, {better}")


def _chosen(options: argparse.Namespace) -> list[JudgedCollection]:
    directories = collections_in(options.directory)
    names = [path.name for path in directories]
    unknown = set(options.collection or ()) - set(names)
    if unknown:
        raise SystemExit(
            f"there is no {', '.join(sorted(unknown))} in {options.directory}; there are {', '.join(names)}"
        )
    chosen: list[JudgedCollection] = []
    for path in directories:
        if options.collection and path.name not in options.collection:
            continue
        collection = read_collection(path)
        if options.half is not None:
            collection = collection.half(options.half)
        if options.questions is not None:
            collection = collection.with_questions(options.questions)
        if options.documents is not None:
            collection = collection.with_documents(options.documents)
        chosen.append(collection)
    return chosen


async def run(options: argparse.Namespace) -> None:
    """Ingest, ask, and print."""
    collections = _chosen(options)
    variants = [Variant(chunker, context == "on") for chunker, context in product(options.chunkers, options.context)]
    modes = tuple(MODES) if options.modes == ["all"] else tuple(options.modes)
    qualities: dict[str, dict[str, Quality]] = {}
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(running_server(options.keep))
        target = await stack.enter_async_context(
            platform(server, "retrieval", is_kept=options.keep is not None, most_results=PASSAGES, is_limited=False)
        )
        report.print_heading(
            "Retrieval quality by collection and mode", mongod=target.services.connection.server_version
        )
        for collection in collections:
            print(
                f"{collection.name}: {len(collection.documents):,} documents ({collection.empty_count} more are empty),"
                f" {len(collection.questions):,} questions",
                flush=True,
            )
            found = await ingest(target, collection, variants, model=options.model, slots=options.slots)
            for variant, indexed in found.items():
                name = f"{collection.name}, {variant}"
                qualities[name] = await _measured(indexed, collection, modes, name=name)
    print_closing(qualities, modes)


async def _measured(
    indexed: Indexed, collection: JudgedCollection, modes: Sequence[str], *, name: str
) -> dict[str, Quality]:
    stored = await indexed.target.services.ingestion.knowledge_bases.get(
        indexed.target.organization.id, indexed.knowledge_base.id
    )
    print(f"{name}: {stored.chunk_count:,} chunks of {stored.chunk_size} tokens, {stored.embedding_model}", flush=True)
    by_mode: dict[str, Quality] = {}
    for mode in modes:
        quality = by_mode[mode] = await measure(indexed, collection, mode, name=name)
        print(f"  {mode:28} nDCG@10 {quality.mean_ndcg:.4f}  recall@100 {quality.mean_recall:.4f}", flush=True)
    return by_mode


def main(argv: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(
        description="Retrieval quality of collections with judgements.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("directory", type=Path, help="a collection, or a directory of them")
    parser.add_argument("--collection", nargs="+", help="only these")
    parser.add_argument("--questions", "--sample", type=int, help="only so many of each, the same ones at every run")
    parser.add_argument("--documents", type=int, help="only so many of each: quicker, and easier to search")
    parser.add_argument("--half", type=int, choices=(0, 1), help="only one half of the questions")
    parser.add_argument("--modes", nargs="+", choices=[*MODES, "all"], default=list(USUAL))
    parser.add_argument("--chunkers", "--chunker", nargs="+", default=[DEFAULT_CHUNKER], help="chunkers to compare")
    parser.add_argument("--context", nargs="+", choices=("off", "on"), default=["on"], help="context of chunks")
    parser.add_argument("--model", help="an embedding model; the default one if left out")
    parser.add_argument("--slots", type=int, default=2, help="jobs that run at once")
    parser.add_argument("--keep", type=Path, help="a data directory of its own that stays")
    asyncio.run(run(parser.parse_args(argv)))


if __name__ == "__main__":
    main()
