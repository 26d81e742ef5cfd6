"""Retrieval of passages whose answers need their context: hit@1, hit@5 and nDCG@10 by kind of question and document.

    make eval-retrieval [EVALUATION_ARGUMENTS="--chunkers recursive section --context off on --chunk-size 512"]
    python -m benchmarks.context_retrieval [--set DIRECTORY] [--chunkers NAME …] [--context off on] [--json FILE]

The whole platform answers: an embedded mongod, each document of the made set (`benchmarks.made_set`) uploaded as a file
and extracted, a knowledge base for each combination of settings, indexed by real jobs with the local model, and every
question put to the search service. A result is right if it covers at least half of the answer's characters; nDCG@10
counts the first right one.
"""

import argparse
import asyncio
import json
import math
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from analytiq.ingestion.chunking.registry import DEFAULT_CHUNKER
from analytiq.ingestion.knowledge_bases.service import NewKnowledgeBase
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.upload import DuplicatePolicy
from analytiq.retrieval.pipeline.request import Mode, SearchRequest
from benchmarks import report
from benchmarks.made_set.files import read
from benchmarks.made_set.model import CONTEXT, DIRECTORY, MISLEADING, PLAIN, MadeDocument, MadeQuestion, spans_of
from benchmarks.platform_under_test import Platform, platform, running_server, working

DEPTH = 10
GROUPS = (CONTEXT, PLAIN, MISLEADING)
Gold = Mapping[str, tuple[str, Sequence[tuple[int, int]]]]
"""Question id → the document's id, and the answer's places in its text."""


@dataclass(frozen=True, slots=True)
class KnowledgeBaseSettings:
    """The settings of one knowledge base; `overlap` is cut to what the size allows."""

    chunker: str
    context: bool
    chunk_size: int
    overlap: int

    @property
    def label(self) -> str:
        """The name in the tables."""
        return f"{self.chunker} {self.chunk_size}/{self.overlap}, context {'on' if self.context else 'off'}"

    def knowledge_base(self, tag_id: str, model: str | None) -> NewKnowledgeBase:
        """Return the knowledge base to create."""
        return NewKnowledgeBase(
            name=self.label,
            description="",
            tag_ids=(tag_id,),
            chunker_type=self.chunker,
            chunk_size=self.chunk_size,
            chunk_overlap=self.overlap,
            embedding_model=model,
            coalesce_neighbors=0,
            context=self.context,
        )


async def upload(target: Platform, documents: Sequence[MadeDocument]) -> dict[str, str]:
    """Upload the documents under one tag; return their ids by name."""
    ids: dict[str, str] = {}
    uploads = target.services.ingestion.uploads
    for document in documents:
        staged = await uploads.stage(
            target.organization.id,
            document_name=document.name,
            content_type="application/octet-stream",  # the product tells by name and bytes
            source=_once(document.content.encode()),
        )
        done = await uploads.commit(staged, tag_ids=[target.tag.id], metadata={}, policy=DuplicatePolicy.RETURN)
        ids[document.name] = done.document.id
    return ids


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def located(target: Platform, ids: Mapping[str, str], questions: Sequence[MadeQuestion]) -> Gold:
    """Find each answer in the extracted text.

    Raises:
        SystemExit: an answer is not in the text of its document.
    """
    texts: dict[str, str] = {}
    for name, document_id in ids.items():
        _, pieces = await target.services.ingestion.documents.whole_text(target.organization.id, document_id)
        texts[name] = "".join([piece async for piece in pieces])
    gold = {one.id: (ids[one.document], spans_of(one.gold, texts[one.document])) for one in questions}
    lost = [one.id for one in questions if not gold[one.id][1]]
    if lost:
        raise SystemExit(f"{len(lost)} answers are not in the extracted texts: {', '.join(lost[:5])}.")
    return gold


async def ranks_of(
    target: Platform,
    knowledge_base: KnowledgeBase,
    questions: Sequence[MadeQuestion],
    gold: Gold,
    mode: Mode,
) -> dict[str, int | None]:
    """Ask every question; return the rank of the first right result, from 1, or None."""
    request = SearchRequest("", top_k=DEPTH, coalesce_neighbors=0, mode=mode)
    ranks: dict[str, int | None] = {}
    for question in questions:
        answer = await target.services.retrieval.search.search(
            target.organization, knowledge_base.id, replace(request, query=question.text)
        )
        if answer.degraded:
            lacking = answer.degraded[0]
            raise SystemExit(f"{lacking.step} failed ({lacking.detail}); what it measures is worth nothing")
        document_id, spans = gold[question.id]
        right = (
            rank
            for rank, result in enumerate(answer.results, start=1)
            if result.document_id == document_id and covers((result.start, result.end), spans)
        )
        ranks[question.id] = next(right, None)
    return ranks


def covers(found: tuple[int, int], spans: Sequence[tuple[int, int]]) -> bool:
    """Return True if a passage covers at least half of one of the spans."""
    return any(2 * (min(found[1], end) - max(found[0], start)) >= end - start for start, end in spans)


@dataclass(frozen=True, slots=True)
class Measures:
    """The measures of some questions."""

    count: int
    hit_1: float
    hit_5: float
    ndcg_10: float

    @classmethod
    def of(cls, ranks: Sequence[int | None]) -> "Measures":
        """Return the means over the ranks of the first right results."""
        found = [rank for rank in ranks if rank is not None]
        total = max(len(ranks), 1)
        return cls(
            len(ranks),
            sum(rank == 1 for rank in found) / total,
            sum(rank <= 5 for rank in found) / total,
            math.fsum(1 / math.log2(rank + 1) for rank in found if rank <= DEPTH) / total,
        )

    def __str__(self) -> str:
        return f"{self.hit_1:.3f} / {self.hit_5:.3f} / {self.ndcg_10:.3f}"


def _measured(questions: Sequence[MadeQuestion], ranks: Mapping[str, int | None]) -> Iterator[tuple[str, Measures]]:
    for group in GROUPS:
        yield group, Measures.of([ranks[one.id] for one in questions if one.group == group])
    for kind in sorted({one.kind for one in questions if one.group == CONTEXT}):
        yield kind, Measures.of([ranks[one.id] for one in questions if (one.group, one.kind) == (CONTEXT, kind)])


def print_results(questions: Sequence[MadeQuestion], ranks: Mapping[str, Mapping[str, int | None]]) -> None:
    """Print hit@1 / hit@5 / nDCG@10 by settings: of each group, then of the context questions by kind of document."""
    measures = {label: dict(_measured(questions, one)) for label, one in ranks.items()}
    first = next(iter(measures.values()))
    kinds = [name for name in first if name not in GROUPS]
    print("\nhit@1 / hit@5 / nDCG@10")
    report.print_table(
        ("settings", *(f"{group} ({first[group].count})" for group in GROUPS)),
        [[label, *(str(one[group]) for group in GROUPS)] for label, one in measures.items()],
    )
    print("\nnDCG@10 of the context questions by kind of document")
    report.print_table(
        ("settings", *(f"{kind} ({first[kind].count})" for kind in kinds)),
        [[label, *(f"{one[kind].ndcg_10:.3f}" for kind in kinds)] for label, one in measures.items()],
    )


async def run(options: argparse.Namespace) -> None:
    """Index, ask, and print."""
    documents, questions = read(options.set)
    wanted = _settings(options)
    ranks: dict[str, dict[str, int | None]] = {}
    chunk_counts: dict[str, int] = {}
    async with running_server() as server, platform(server, "context", is_limited=False) as target:
        report.print_heading(
            f"Retrieval in context: {len(documents)} documents, {len(questions)} questions",
            mongod=target.services.connection.server_version,
        )
        bases = [
            await target.services.ingestion.knowledge_bases.create(
                target.organization, one.knowledge_base(target.tag.id, options.model)
            )
            for one in wanted
        ]
        async with working(target.services, slots=options.slots):
            ids = await upload(target, documents)
            await target.until_idle()
        gold = await located(target, ids, questions)
        for one, base in zip(wanted, bases, strict=True):
            print(f"  asking: {one.label}", file=sys.stderr, flush=True)
            stored = await target.services.ingestion.knowledge_bases.get(target.organization.id, base.id)
            chunk_counts[one.label] = stored.chunk_count
            ranks[one.label] = await ranks_of(target, base, questions, gold, Mode(options.mode))
    for label, count in chunk_counts.items():
        print(f"{label}: {count:,} chunks")
    print_results(questions, ranks)
    if options.json is not None:
        options.json.write_text(json.dumps(ranks, indent=1), encoding="utf-8")


def _settings(options: argparse.Namespace) -> list[KnowledgeBaseSettings]:
    return [
        KnowledgeBaseSettings(chunker, context == "on", size, min(options.chunk_overlap, size // 4))
        for size, chunker, context in product(options.chunk_size, options.chunkers, options.context)
    ]


def main(argv: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(
        description="Retrieval of passages whose answers need their context.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--set", type=Path, default=DIRECTORY, help="a directory with documents/ and questions.jsonl")
    parser.add_argument("--chunkers", nargs="+", default=[DEFAULT_CHUNKER], help="chunkers to compare")
    parser.add_argument("--context", nargs="+", choices=("off", "on"), default=["off", "on"], help="context of chunks")
    parser.add_argument("--chunk-size", nargs="+", type=int, default=[512], help="largest chunk in tokens")
    parser.add_argument("--chunk-overlap", type=int, default=128, help="at most a quarter of the chunk size is used")
    parser.add_argument("--mode", choices=[mode.value for mode in Mode], default=Mode.HYBRID.value)
    parser.add_argument("--model", help="an embedding model; the default one if left out")
    parser.add_argument("--slots", type=int, default=2, help="jobs that run at once")
    parser.add_argument("--json", type=Path, help="write the rank of each question's first right result to this file")
    asyncio.run(run(parser.parse_args(argv)))


if __name__ == "__main__":
    main()
