"""The steps from a file to its search results, each with its processor seconds, for `benchmarks.file_growth`."""

import os
import resource
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time

from analytiq.errors import AnalytiqError
from analytiq.ingestion.chunking.context import ChunkContext, ChunkContexts
from analytiq.ingestion.chunking.registry import create_chunker
from analytiq.ingestion.parsing.base import ContainerParser, ParseOptions, Parser
from analytiq.ingestion.parsing.child import load_parser
from analytiq.ingestion.parsing.formats import detect_content_type
from analytiq.ingestion.parsing.limits import ParseLimits, mapped_bytes
from analytiq.ingestion.parsing.messages import Outcome
from analytiq.ingestion.parsing.outcome_file import read_outcome, write_outcome
from analytiq.ingestion.parsing.parts import PartCollector
from analytiq.ingestion.parsing.reading import processor_budget_of
from analytiq.ingestion.parsing.registry import default_registry
from analytiq.ingestion.parsing.sanitize import sanitize_document
from analytiq.ingestion.quality.judging import judged
from analytiq.models.chunk import Chunk
from analytiq.models.text import DocumentText, PageLocator, ParsedDocument, join_pages
from analytiq.retrieval.backends.local.keywords.index import FORMAT, State, WordIndex
from analytiq.retrieval.pipeline.dedup import duplicates
from analytiq.retrieval.pipeline.highlight import Highlighter
from analytiq.retrieval.terms.analysis import chunk_terms, context_terms
from analytiq.settings import ExtractionSettings
from analytiq.storage.repositories.index_contents import ChunkText

STEPS = ("detect", "parse", "judge", "outcome", "join", "chunk", "context", "terms", "index", "repeats", "mark")
"""`detect`: the content type. `parse`: text, blocks and the completeness gate. `judge`: the quality gate. `outcome`:
from the parser's process to the worker. `join`: the pages. `chunk`: with exact tokens. `context`: headings and pages of
each chunk. `terms`: words, numbers and dates of the keyword index. `index`: the index itself, with another look at the
terms. `repeats`: near-identical passages among all chunks. `mark`: words of a question in each chunk."""
MAX_PARTS = 1000
QUESTION = "Which pump draws 230 V at 1234.5 rpm since March 12, 2024?"


@dataclass(slots=True)
class Measured:
    """The steps of one file: seconds, or the reason for the end."""

    seconds: dict[str, float] = field(default_factory=dict[str, float])
    ended_by: str = ""
    parser_mebibytes: int = 0
    mebibytes: int = 0


class _Stopwatch:
    def __init__(self, measured: Measured) -> None:
        self._measured = measured

    @contextmanager
    def step(self, name: str) -> Generator[None]:
        begin = process_time()
        try:
            yield
        finally:
            self._measured.seconds[name] = process_time() - begin


def take_steps(path: Path, *, chunkers: Sequence[str], until: str) -> Measured:
    """Take the steps with a file up to `until`; the steps behind the chunks go by the first chunker."""
    measured = Measured()
    watch = _Stopwatch(measured)
    last = STEPS.index(until)
    try:
        parsed = _parsed(path, watch, measured)
        if last >= STEPS.index("judge"):
            with watch.step("judge"):
                parsed = judged(parsed)
        if last >= STEPS.index("outcome"):
            with watch.step("outcome"):
                parsed = _handed_over(parsed)
        if last >= STEPS.index("join"):
            with watch.step("join"):
                text = join_pages(parsed.pages, title=parsed.title)
            _take_steps_with_text(text, path.name, watch, chunkers=chunkers, last=last)
    except (AnalytiqError, RecursionError, MemoryError) as error:
        measured.ended_by = getattr(error, "code", type(error).__name__)
    measured.mebibytes = _peak_mebibytes()
    return measured


def _parsed(path: Path, watch: _Stopwatch, measured: Measured) -> ParsedDocument:
    with watch.step("detect"):
        content_type = detect_content_type(path)
    parser = load_parser(default_registry().entry_for(content_type).reference)
    budget = processor_budget_of(ExtractionSettings()).seconds(path.stat().st_size, content_type)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (mapped_bytes() + ParseLimits().memory_bytes, hard))
    try:
        with watch.step("parse"):
            parsed = sanitize_document(_parse(parser, path))
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        measured.parser_mebibytes = _peak_mebibytes()
        if measured.seconds.get("parse", 0.0) > budget:
            measured.ended_by = f"parser beyond its {budget} s"
    return parsed


def _parse(parser: Parser, path: Path) -> ParsedDocument:
    options = ParseOptions(max_parts=MAX_PARTS)
    if not isinstance(parser, ContainerParser):
        return parser.parse(path, options, lambda done, total: None)
    with tempfile.TemporaryFile() as file:
        parts = PartCollector(file, most=MAX_PARTS)
        return parser.parse_with_parts(path, options, lambda done, total: None, parts)


def _handed_over(parsed: ParsedDocument) -> ParsedDocument:
    with tempfile.TemporaryFile() as file:
        write_outcome(Outcome(document=parsed), file.fileno())
        outcome = read_outcome(os.dup(file.fileno()), most_bytes=ParseLimits().output_bytes)
    if outcome.document is None:
        raise AssertionError("An outcome with a document has none.")
    return outcome.document


def _take_steps_with_text(
    text: DocumentText, file_name: str, watch: _Stopwatch, *, chunkers: Sequence[str], last: int
) -> None:
    if last < STEPS.index("chunk"):
        return
    all_chunks = [_chunked(text, chunker, watch, is_first=at == 0) for at, chunker in enumerate(chunkers)]
    chunks = all_chunks[0]
    if last < STEPS.index("context"):
        return
    with watch.step("context"):
        contexts = ChunkContexts(text, file_name)
        locator = PageLocator(text.pages)
        said = [contexts.of(chunk.start, chunk.end, chunk.token_count) for chunk in chunks]
        for chunk in chunks:
            locator.between(chunk.start, chunk.end)
    if last >= STEPS.index("terms"):
        _index(chunks, said, watch, last=last)
    if last >= STEPS.index("repeats"):
        with watch.step("repeats"):
            duplicates([chunk.text for chunk in chunks], [context.text for context in said], QUESTION)
    if last >= STEPS.index("mark"):
        with watch.step("mark"):
            highlighter = Highlighter(QUESTION)
            for chunk in chunks:
                highlighter.spans(chunk.text)


def _chunked(text: DocumentText, chunker: str, watch: _Stopwatch, *, is_first: bool) -> Sequence[Chunk]:
    cut = create_chunker(chunker, chunk_size=512, chunk_overlap=64, embed_texts=None)
    with watch.step("chunk" if is_first else f"chunk:{chunker}"):
        return cut.chunk(text)


def _index(chunks: Sequence[Chunk], contexts: Sequence[ChunkContext], watch: _Stopwatch, *, last: int) -> None:
    with watch.step("terms"):
        language = None
        for chunk, context in zip(chunks, contexts, strict=True):
            terms = chunk_terms(chunk.text, language=language)
            language = terms.language or language
            context_terms(context.text, language)
    if last >= STEPS.index("index"):
        with watch.step("index"):
            index = WordIndex.created(None)
            rows = [
                ChunkText("0" * 24, "0" * 24, chunk.chunk_index, 1, 1, chunk.text, context.text)
                for chunk, context in zip(chunks, contexts, strict=True)
            ]
            index.add(rows, {})
            index.commit(State(FORMAT, "", "", "", 1, ""))


def _peak_mebibytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
