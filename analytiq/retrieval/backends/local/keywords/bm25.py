"""BM25 as tantivy computes it, so that rows outside of the library get the scores that the library would give."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import tantivy
from numpy.typing import NDArray
from pydantic import BaseModel

from analytiq.retrieval.backends.local.keywords.schema import FIELDS, STATE_TERM

K1 = 1.2
B = 0.75
SATURATED = K1 + 1
"""Upper bound of the factor on a term's weight."""
_NORMS = 256


def _length_of(norm: int) -> int:
    """Decode a field's length from its byte: exact up to 40, then in four significant bits."""
    if norm < 24:  # the layout of tantivy's, and Lucene's, norms
        return norm
    mantissa, shift = (norm - 24) & 7, ((norm - 24) >> 3) - 1
    return 24 + (mantissa if shift < 0 else (mantissa | 8) << shift)


_LENGTHS = np.asarray([_length_of(norm) for norm in range(_NORMS)], dtype=np.int64)


def kept_lengths(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Round lengths down to those that fit into a byte, as the index keeps them."""
    return _LENGTHS[np.searchsorted(_LENGTHS, lengths, side="right") - 1]


def rarity(rows: float, holders: float) -> float:
    """Return BM25's inverse document frequency; 0 without holders."""
    return math.log(1.0 + (rows - holders + 0.5) / (holders + 0.5)) if holders else 0.0


@dataclass(frozen=True, slots=True)
class Statistics:
    """BM25's figures of a collection: its rows, and the number of terms in each field. Removed rows may count."""

    rows: int = 0
    terms: Mapping[str, float] = field(default_factory=dict[str, float])

    def with_rows(self, rows: int, terms: Mapping[str, float]) -> "Statistics":
        """Return the statistics of this collection and more rows."""
        return Statistics(self.rows + rows, {name: self.terms.get(name, 0.0) + terms.get(name, 0.0) for name in FIELDS})

    def average_length(self, name: str) -> float:
        """Return the mean number of terms in a field."""
        return self.terms.get(name, 0.0) / self.rows if self.rows else 0.0


def factors(frequencies: NDArray[np.float64], lengths: NDArray[np.int64], average: float) -> NDArray[np.float64]:
    """Return the factor on a term's weight for rows with these frequencies of the term and kept lengths."""
    relative = lengths / average if average else np.zeros(len(lengths))
    return SATURATED * frequencies / (frequencies + K1 * (1.0 - B + B * relative))


class Explanation(BaseModel):
    """The library's account of a score."""

    value: float
    description: str
    details: tuple["Explanation", ...] = ()


def statistics_of(schema: tantivy.Schema, searcher: tantivy.Searcher) -> Statistics:
    """Read the statistics that the library uses, from its explanations of the state's row."""
    rows, terms = 0, dict[str, float]()
    for name in FIELDS:
        query = tantivy.Query.term_query(schema, name, STATE_TERM, "freq")
        found = searcher.search(query, limit=1, count=False).hits
        if not found:
            return Statistics()
        told = dict(_values(Explanation.model_validate_json(query.explain(searcher, found[0][1]).to_json())))
        rows = round(told["N"])
        terms[name] = told["avgdl"] * rows
    return Statistics(rows, terms)


def _values(explanation: Explanation) -> Iterator[tuple[str, float]]:
    """Yield all values of an explanation by their symbols."""
    yield explanation.description.split(",")[0], explanation.value
    for detail in explanation.details:
        yield from _values(detail)
