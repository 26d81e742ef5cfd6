"""Neighbours of matches (seed: "Chunk Coalescing"): pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analytiq.retrieval.search.candidates import Candidate


@dataclass(frozen=True, slots=True)
class Place:
    """One chunk to show; `hit` is None for a neighbour."""

    kb_id: str
    generation_id: str
    document_id: str
    chunk_index: int
    hit: Candidate | None


def plan(hits: Sequence[Candidate], *, neighbors: Mapping[str, int], chunk_counts: Mapping[str, int]) -> list[Place]:
    """The chunks to show for matches, best first: windows that touch become one, in the order of the document.

    No window leaves its document (`chunk_counts`: generation id → chunks), and no chunk is shown twice. `neighbors`: of
    each knowledge base, how many chunks to each side.
    """
    windows = _windows(hits, neighbors, chunk_counts)
    hit_at = {(hit.generation_id, hit.chunk_index): hit for hit in hits}
    places: list[Place] = []
    shown: set[tuple[str, int]] = set()
    for hit in hits:
        if (hit.generation_id, hit.chunk_index) in shown:
            continue
        start, stop = next(window for window in windows[hit.generation_id] if window[0] <= hit.chunk_index < window[1])
        for index in range(start, stop):
            shown.add((hit.generation_id, index))
            match = hit_at.get((hit.generation_id, index))
            places.append(Place(hit.kb_id, hit.generation_id, hit.document_id, index, match))
    return places


def _windows(
    hits: Sequence[Candidate], neighbors: Mapping[str, int], chunk_counts: Mapping[str, int]
) -> dict[str, list[tuple[int, int]]]:
    """Generation id → disjoint ranges [start, stop) of chunks, those that touch merged."""
    ranges: dict[str, list[tuple[int, int]]] = {}
    for hit in sorted(hits, key=lambda hit: hit.chunk_index):
        last = max(chunk_counts.get(hit.generation_id, 0), hit.chunk_index + 1)
        beside = neighbors[hit.kb_id]
        start = max(0, hit.chunk_index - beside)
        stop = min(last, hit.chunk_index + beside + 1)
        merged = ranges.setdefault(hit.generation_id, [])
        if merged and beside and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], stop))
        else:
            merged.append((start, stop))
    return ranges
