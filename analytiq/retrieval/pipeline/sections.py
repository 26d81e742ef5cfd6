"""Sections: reads the section around each match, for answers that need more than the passage that was found."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from analytiq.models.vector import Passage
from analytiq.retrieval.pipeline.context import Hit, Key, SearchContext
from analytiq.retrieval.pipeline.passages import PassageReader
from analytiq.retrieval.pipeline.request import Section

MAX_SECTION_TOKENS = 2000
"""Most tokens of a section; of a longer one the part around the match is shown."""
LEAST_CHUNK_TOKENS = 64
"""Chunks are taken to have as many tokens at least: it bounds how many are read beside a match."""


async def read_sections(context: SearchContext, passages: PassageReader, hits: Iterable[Hit]) -> dict[Key, Section]:
    """Return the section of each match whose text is known."""
    matches = [hit for hit in hits if hit.is_matched and hit.key in context.texts]
    wanted = {key for hit in matches for key in _keys_around(hit, context)}
    with context.trace.step("sections"):
        texts = context.texts | await passages.read(context, sorted(wanted - context.texts.keys()))
    return {hit.key: section_of(hit.chunk_index, _of_generation(hit, texts)) for hit in matches}


def section_of(chunk_index: int, passages: Mapping[int, Passage]) -> Section:
    """Return the section that holds a chunk, at most MAX_SECTION_TOKENS around it.

    The section belongs to the innermost heading that has more than the chunk below it, if all of it fits, else to the
    innermost heading above the chunk. A chunk beside it that lies below a heading further out is added if it may hold
    the section's beginning or end, merged with a small section. Without headings it is the chunk's page.

    Args:
        chunk_index: the chunk's place in its document.
        passages: the chunks of the document around it, and itself, by their place.
    """
    chunk = passages[chunk_index]
    path = chunk.heading_path
    if not path:
        return _section(_grown(chunk_index, passages, lambda other: _shares_page(chunk, other))[0], ())
    for depth in range(len(path), 0, -1):
        above = path[:depth]
        around, is_whole = _grown(chunk_index, passages, lambda other, above=above: _is_below(above, other))
        if len(around) > 1 and (is_whole or depth == len(path)):
            return _section(_with_edges(around, passages, above), above)
    return _section([chunk], path)


def _grown(
    place: int, passages: Mapping[int, Passage], belongs: Callable[[Passage], bool]
) -> tuple[list[Passage], bool]:
    """Return the chunk with its neighbours that belong to it, by turns from both sides, and whether all of them fit."""
    around = [passages[place]]
    tokens = passages[place].token_count
    before, after = place - 1, place + 1
    is_open = {-1: True, 1: True}
    while any(is_open.values()):
        for side in (-1, 1):
            other = passages.get(before if side < 0 else after)
            if not is_open[side] or other is None or not belongs(other):
                is_open[side] = False
                continue
            if tokens + other.token_count > MAX_SECTION_TOKENS:
                return around, False
            tokens += other.token_count
            around.insert(0 if side < 0 else len(around), other)
            before, after = (before - 1, after) if side < 0 else (before, after + 1)
    return around, True


def _with_edges(around: Sequence[Passage], passages: Mapping[int, Passage], above: tuple[str, ...]) -> list[Passage]:
    """Add the chunk on each side that may hold a part of the section, if it fits."""
    tokens = sum(part.token_count for part in around)
    edged = list(around)
    for is_after, place in ((False, around[0].chunk_index - 1), (True, around[-1].chunk_index + 1)):
        other = passages.get(place)
        if other is None or not _is_further_out(other.heading_path, above):
            continue
        if not is_after and above[-1] in around[0].chunk_text:
            continue
        if tokens + other.token_count <= MAX_SECTION_TOKENS:
            tokens += other.token_count
            edged.insert(len(edged) if is_after else 0, other)
    return edged


def _section(chunks: Sequence[Passage], heading_path: tuple[str, ...]) -> Section:
    parts: list[str] = []
    end = chunks[0].start
    for chunk in chunks:
        if chunk.start > end:
            parts.append("\n\n")
        parts.append(chunk.chunk_text[max(0, end - chunk.start) :])
        end = max(end, chunk.end)
    return Section(
        content="".join(parts),
        start=chunks[0].start,
        end=end,
        first_page=chunks[0].first_page,
        last_page=max(chunk.last_page for chunk in chunks),
        heading_path=heading_path,
    )


def _keys_around(hit: Hit, context: SearchContext) -> list[Key]:
    chunk_tokens = max(context.texts[hit.key].token_count, LEAST_CHUNK_TOKENS)
    beside = -(-MAX_SECTION_TOKENS // chunk_tokens)
    counts = context.chunk_counts.get(hit.generation_id)
    alike = counts.around(hit.chunk_index) if counts else range(hit.chunk_index, hit.chunk_index + 1)
    places = range(max(alike.start, hit.chunk_index - beside), min(alike.stop, hit.chunk_index + beside + 1))
    return [(hit.kb_id, hit.generation_id, place) for place in places]


def _of_generation(hit: Hit, texts: Mapping[Key, Passage]) -> dict[int, Passage]:
    return {key[2]: passage for key, passage in texts.items() if key[:2] == (hit.kb_id, hit.generation_id)}


def _shares_page(chunk: Passage, other: Passage) -> bool:
    return other.first_page <= chunk.last_page and chunk.first_page <= other.last_page


def _is_below(above: tuple[str, ...], other: Passage) -> bool:
    return other.heading_path[: len(above)] == above


def _is_further_out(path: tuple[str, ...], above: tuple[str, ...]) -> bool:
    return 0 < len(path) < len(above) and above[: len(path)] == path
