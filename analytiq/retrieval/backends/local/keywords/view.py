"""A keyword index at one epoch: immutable, so that searches need no lock and see each commit whole or not at all."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import tantivy
from numpy.typing import NDArray

from analytiq.retrieval.backends.base import KeywordHit
from analytiq.retrieval.backends.local.keywords.bm25 import SATURATED, Statistics, factors, rarity
from analytiq.retrieval.backends.local.keywords.fresh import FreshView, Postings
from analytiq.retrieval.backends.local.keywords.schema import (
    CHARACTERS,
    CONTEXT_CHARACTERS,
    CONTEXT_EXACT,
    CONTEXT_WORDS,
    EXACT,
    WORDS,
)
from analytiq.retrieval.filters.compilers.local_keywords import compiled, document_count
from analytiq.retrieval.filters.selection import Selection, contains
from analytiq.retrieval.terms.analysis import Asked, AskedCode, AskedWord, asked_terms
from analytiq.storage.repositories.index_contents import ChunkText

MOST_TERMS = 256
"""Most distinct words of a question that are searched: the first ones."""
RARE_LANGUAGE = 0.01
"""Chunks below which a rare language's stemmer is used only if the stemmers of common languages match nothing."""
TIES = 32
"""Hits requested beyond the limit, so that equal scores at its edge are in order of document and chunk."""
MOST_TIES = 2000
"""Beyond this number, equal scores at the edge stay in the order of the index."""
SCORE_DECIMALS = 5
WIDE_DOCUMENTS = 500
"""A filter of more documents is first tried on the best chunks of all: tantivy takes 2 to 4 µs for each document."""
CHARACTER_BOOST = 0.3
"""Weight beside pairs: nDCG@10 of XQuAD-zh 0.968, without characters 0.964, with the weight of pairs 0.967."""
AMOUNT_WEIGHT = 0.5
"""Weight of an amount such as `10 %` beside its number, which counts as a word; nDCG@10 of SciFact is the same from 0
to 0.5, and 0.0037 less with the weight of a code."""

_PAIRS = ((WORDS, CONTEXT_WORDS), (EXACT, CONTEXT_EXACT), (CHARACTERS, CONTEXT_CHARACTERS))
_OTHER = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}


@dataclass(frozen=True, slots=True)
class _Row:
    score: float
    document_id: str
    chunk_index: int
    generation_id: str
    first_page: int
    last_page: int

    @property
    def order(self) -> tuple[float, str, int]:
        return -self.score, self.document_id, self.chunk_index

    def is_in(self, selection: Selection) -> bool:
        return contains(selection, self.document_id, self.first_page, self.last_page, chunk_index=self.chunk_index)

    @property
    def hit(self) -> KeywordHit:
        return KeywordHit(self.generation_id, self.document_id, self.chunk_index, self.score)


@dataclass(frozen=True, slots=True)
class _Match:
    """A term to match, with the weight of its rarity, or with a constant score."""

    name: str
    term: str
    weight: float = 1.0
    constant: float | None = None


@dataclass(frozen=True, slots=True)
class _Clause:
    """The better of some matches, times `boost`; a row's score is the sum of its clauses."""

    matches: tuple[_Match, ...]
    boost: float = 1.0


@dataclass(frozen=True, slots=True)
class Base:
    """A commit of an index. `languages`: the number of chunks in each language."""

    schema: tantivy.Schema
    searcher: tantivy.Searcher
    languages: Mapping[str, int]
    statistics: Statistics


@dataclass(frozen=True, slots=True)
class View:
    """A commit of an index, and the changes since. `masked`: removed generations, with their number of rows in it."""

    base: Base
    masked: Mapping[str, int] = field(default_factory=dict[str, int])
    fresh: tuple[FreshView, ...] = ()

    @property
    def chunk_count(self) -> int:
        """The number of searchable chunks; the index has one more row, for its identity."""
        return max(0, self.live_rows - 1)

    @property
    def live_rows(self) -> int:
        """The number of rows that are not removed."""
        merged = self.base.searcher.num_docs - sum(self.masked.values())
        return merged + sum(fresh.live_rows for fresh in self.fresh)

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of chunks in Latin script, most frequent first."""
        counts = Counter(self.base.languages)
        for fresh in self.fresh:
            counts.update(fresh.languages)
        return common_languages(counts.most_common())

    def search(self, question: str, *, limit: int, selection: Selection | None) -> list[KeywordHit]:
        """Return the chunks with the highest scores, best first; ties in order of document and chunk."""
        asked = asked_terms(question, self.languages)
        return _Search(self).hits(asked, selection, limit) if limit > 0 else []


class _Search:
    """A search of one view: the clauses of a question, scored in the index and among the fresh rows."""

    def __init__(self, view: View) -> None:
        self.schema = view.base.schema
        self.searcher = view.base.searcher
        self._masked = view.masked
        self._fresh = [fresh for fresh in view.fresh if fresh.live_rows]
        self._merged = self._statistics = view.base.statistics
        for fresh in self._fresh:
            self._statistics = self._statistics.with_rows(fresh.live_rows, fresh.terms)
        self._postings: dict[tuple[str, str], list[Postings]] = {}

    def hits(self, asked: Asked, selection: Selection | None, limit: int) -> list[KeywordHit]:
        """Return the best chunks."""
        clauses = self._clauses(asked)
        query = self._query(clauses)
        rows = [] if query is None else self._selected(query, selection, limit)
        for place, fresh in enumerate(self._fresh):
            rows += self._best_of_fresh(place, fresh, clauses, selection, limit)
        if self._fresh:
            rows.sort(key=lambda row: row.order)
        return [row.hit for row in rows[:limit]]

    def _selected(self, query: tantivy.Query, selection: Selection | None, limit: int) -> list[_Row]:
        if selection is None:
            return self._best(query, limit)
        if document_count(selection) > WIDE_DOCUMENTS:
            depth = 4 * limit + 100
            rows = self._best(query, depth)
            kept = [row for row in rows if row.is_in(selection)]
            if len(kept) >= limit or len(rows) < depth:
                return kept[:limit]
        within = tantivy.Query.const_score_query(compiled(self.schema, selection), 0.0)
        return self._best(
            tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.Must, within)]), limit
        )

    def _best(self, query: tantivy.Query, limit: int) -> list[_Row]:
        """Return the best rows of the index that are not removed."""
        rows = self._best_of_all(query, limit)
        if not any(row.generation_id in self._masked for row in rows):
            return rows
        removed = tantivy.Query.term_set_query(self.schema, "generation", sorted(self._masked))
        return self._best_of_all(
            tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.MustNot, removed)]), limit
        )

    def _best_of_all(self, query: tantivy.Query, limit: int) -> list[_Row]:
        wanted = limit + TIES
        found = self.searcher.search(query, limit=wanted, count=False).hits
        if len(found) == wanted and _rounded(found[-1][0]) == _rounded(found[limit - 1][0]):
            found = self.searcher.search(query, limit=limit + MOST_TIES, count=False).hits
        if len(found) > limit:
            edge = _rounded(found[limit - 1][0])
            found = [(score, address) for score, address in found if _rounded(score) >= edge]
        rows = [self._row(_rounded(score), address) for score, address in found]
        rows.sort(key=lambda row: row.order)
        return rows[:limit]

    def _row(self, score: float, address: tantivy.DocAddress) -> _Row:
        stored = self.searcher.doc(address)
        return _Row(
            score=score,
            document_id=str(stored.get_first("document")),
            chunk_index=_number(stored.get_first("chunk_index")),
            generation_id=str(stored.get_first("generation")),
            first_page=_number(stored.get_first("first_page")),
            last_page=_number(stored.get_first("last_page")),
        )

    def _best_of_fresh(
        self, place: int, fresh: FreshView, clauses: Sequence[_Clause], selection: Selection | None, limit: int
    ) -> list[_Row]:
        scores = np.zeros(len(fresh.alive))
        for clause in clauses:
            best = np.zeros(len(scores))
            for match in clause.matches:
                numbers, frequencies = self._fresh_postings(match.name, match.term)[place]
                if len(numbers):
                    scored = self._scored(match, frequencies, fresh.kept_lengths(match.name)[numbers])
                    best[numbers] = np.maximum(best[numbers], scored)
            scores += clause.boost * best
        scores = np.round(scores, SCORE_DECIMALS)
        found = np.flatnonzero(scores)
        if selection is None and len(found) > limit:
            found = found[scores[found] >= np.partition(scores[found], -limit)[-limit]]
        rows = [_fresh_row(fresh.chunk(int(number)), float(scores[number])) for number in found]
        kept = rows if selection is None else [row for row in rows if row.is_in(selection)]
        return sorted(kept, key=lambda row: row.order)[:limit]

    def _scored(
        self, match: _Match, frequencies: NDArray[np.float64], lengths: NDArray[np.int64]
    ) -> NDArray[np.float64] | float:
        if match.constant is not None:
            return match.constant
        weight = match.weight * self._rarity(match.name, match.term)
        return weight * factors(frequencies, lengths, self._statistics.average_length(match.name))

    def _query(self, clauses: Sequence[_Clause]) -> tantivy.Query | None:
        """Build the index's query from terms: the text of a person is never parsed as a query language."""
        queries = [query for clause in clauses if (query := self._query_of(clause)) is not None]
        if not queries:
            return None
        return tantivy.Query.boolean_query([(tantivy.Occur.Should, query) for query in queries])

    def _query_of(self, clause: _Clause) -> tantivy.Query | None:
        queries = [
            self._query_of_match(match, merged)
            for match in clause.matches
            if (merged := self.searcher.doc_freq(match.name, match.term))
        ]
        if not queries:
            return None
        query = queries[0] if len(queries) == 1 else tantivy.Query.disjunction_max_query(queries)
        return query if clause.boost == 1.0 else tantivy.Query.boost_query(query, clause.boost)

    def _query_of_match(self, match: _Match, merged: int) -> tantivy.Query:
        """Match a term in the index with its rarity among all rows, fresh ones included."""
        query = tantivy.Query.term_query(self.schema, match.name, match.term, "freq")
        if match.constant is not None:
            return tantivy.Query.const_score_query(query, match.constant)
        weight = match.weight
        if self._fresh:
            of_all = self._rarity(match.name, match.term)
            weight *= of_all / rarity(self._merged.rows, merged)
        return query if weight == 1.0 else tantivy.Query.boost_query(query, weight)

    def _holders(self, name: str, term: str) -> int:
        """Count the rows with a term."""
        fresh = sum(len(numbers) for numbers, _ in self._fresh_postings(name, term))
        return self.searcher.doc_freq(name, term) + fresh

    def _fresh_postings(self, name: str, term: str) -> list[Postings]:
        if not self._fresh:
            return []
        if (name, term) not in self._postings:
            self._postings[name, term] = [fresh.postings(name, term) for fresh in self._fresh]
        return self._postings[name, term]

    def _clauses(self, asked: Asked) -> list[_Clause]:
        words = list(asked.words.items())[:MOST_TERMS]
        clauses = [self._word(word, float(count)) for word, count in words]
        clauses += [self._word(word, 1.0) for word in asked.joined[:MOST_TERMS]]
        clauses += [self._code(code) for code in asked.codes[:MOST_TERMS]]
        clauses += [self._character(character) for character in asked.characters[:MOST_TERMS]]
        kept = [clause for clause in clauses if clause.matches]
        if not kept:
            clauses = [self._best_of([(EXACT, word), (CONTEXT_EXACT, word)]) for word in asked.stopped[:MOST_TERMS]]
            kept = [clause for clause in clauses if clause.matches]
        return kept

    def _word(self, word: AskedWord, count: float) -> _Clause:
        """Match the best form of the word in a chunk's text or context.

        The better of the two fields counts, and not their sum: added, a title's words count twice, which cost SciFact
        .019 of nDCG@10, while the better one never harmed.
        """
        ways = [(name, stem) for stem in word.stems for name in (WORDS, CONTEXT_WORDS)]
        ways += [(name, word.exact) for name in (EXACT, CONTEXT_EXACT)] if word.exact else []
        return self._best_of(ways, boost=count)

    def _code(self, code: AskedCode) -> _Clause:
        """Score a whole code above all its parts together: a chunk with the code ranks above one with the parts."""
        ways = [(name, term) for term in code.spellings for name in (EXACT, CONTEXT_EXACT)]
        ways += [(name, number) for number in code.numbers for name in (WORDS, CONTEXT_WORDS)]
        return _Clause(
            tuple(
                _Match(name, term, constant=self._worth(code, self._rarity(name, term)))
                for name, term in ways
                if self._holders(name, term)
            )
        )

    def _worth(self, code: AskedCode, own: float) -> float:
        if code.is_amount:
            return AMOUNT_WEIGHT * own
        of_parts = sum(max(self._rarity(name, part) for name in (WORDS, CONTEXT_WORDS)) for part in code.parts)
        return SATURATED * max(own, of_parts)

    def _character(self, character: str) -> _Clause:
        return self._best_of([(CHARACTERS, character), (CONTEXT_CHARACTERS, character)], boost=CHARACTER_BOOST)

    def _best_of(self, ways: Sequence[tuple[str, str]], *, boost: float = 1.0) -> _Clause:
        """Match any of the terms, (field, term) each, with the score of the best one; terms of no row are left out."""
        return _Clause(tuple(self._weighted(name, term) for name, term in ways if self._holders(name, term)), boost)

    def _weighted(self, name: str, term: str) -> _Match:
        """Match a term with the rarity that it has in the field that holds it most often."""
        own = self._rarity(name, term)
        return _Match(name, term, min(own, self._rarity(_OTHER[name], term) or own) / own)

    def _rarity(self, name: str, term: str) -> float:
        # Removed rows that are not merged away count here too, since they count among the holders.
        return rarity(self._statistics.rows, self._holders(name, term))


def _fresh_row(chunk: ChunkText, score: float) -> _Row:
    return _Row(
        score=score,
        document_id=chunk.document_id,
        chunk_index=chunk.chunk_index,
        generation_id=chunk.generation_id,
        first_page=chunk.first_page,
        last_page=chunk.last_page,
    )


def _rounded(score: float) -> float:
    """Round away the last digits, which depend on the order in which the library adds up clauses."""
    return round(score, SCORE_DECIMALS)


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"the index holds {value!r} where a number should be")
    return value


def common_languages(counts: Sequence[tuple[str, int]]) -> tuple[str, ...]:
    """Return the languages whose stemmers questions are read with, most frequent first, from counts of chunks."""
    total = sum(count for _, count in counts)
    return tuple(language for language, count in counts if count >= RARE_LANGUAGE * total)
