"""A keyword index at one epoch: immutable, so that searches need no lock and see each commit whole or not at all."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import tantivy

from analytiq.retrieval.backends.base import KeywordHit
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
SATURATED = 2.2
"""Upper bound of the factor on a term's weight, in BM25 with k1 = 1.2."""

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
class View:
    """A commit of an index. `languages`: of chunks in Latin script, most frequent first."""

    schema: tantivy.Schema
    searcher: tantivy.Searcher
    languages: tuple[str, ...]

    @property
    def chunk_count(self) -> int:
        """The number of searchable chunks; the index has one more row, for its identity."""
        return max(0, self.searcher.num_docs - 1)

    def search(self, question: str, *, limit: int, selection: Selection | None) -> list[KeywordHit]:
        """Return the chunks with the highest scores, best first; ties in order of document and chunk."""
        asked = asked_terms(question, self.languages)
        query = self._query(asked)
        if query is None or limit <= 0:
            return []
        return [row.hit for row in self._selected(query, selection, limit)]

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

    def _query(self, asked: Asked) -> tantivy.Query | None:
        """Build the query from terms: the text of a person is never parsed as a query language."""
        words = list(asked.words.items())[:MOST_TERMS]
        clauses = [clause for word, count in words if (clause := self._word(word, float(count)))]
        clauses += [clause for word in asked.joined[:MOST_TERMS] if (clause := self._word(word, 1.0))]
        clauses += [clause for code in asked.codes[:MOST_TERMS] if (clause := self._code(code))]
        clauses += [self._character(character) for character in asked.characters[:MOST_TERMS]]
        if not clauses:
            clauses = [self._best_of([(EXACT, word), (CONTEXT_EXACT, word)]) for word in asked.stopped[:MOST_TERMS]]
        if not clauses:
            return None
        return tantivy.Query.boolean_query([(tantivy.Occur.Should, clause) for clause in clauses])

    def _word(self, word: AskedWord, count: float) -> tantivy.Query | None:
        """Match the best form of the word in a chunk's text or context; None if no chunk contains any form.

        The better of the two fields counts, and not their sum: added, a title's words count twice, which cost SciFact
        .019 of nDCG@10, while the better one never harmed.
        """
        ways = [(name, stem) for stem in word.stems for name in (WORDS, CONTEXT_WORDS)]
        ways += [(name, word.exact) for name in (EXACT, CONTEXT_EXACT)] if word.exact else []
        ways = [(name, term) for name, term in ways if self.searcher.doc_freq(name, term)]
        if not ways:
            return None
        query = self._best_of(ways)
        return query if count == 1.0 else tantivy.Query.boost_query(query, count)

    def _code(self, code: AskedCode) -> tantivy.Query | None:
        """Score a whole code above all its parts together: a chunk with the code ranks above one with the parts."""
        ways = [(name, term) for term in code.spellings for name in (EXACT, CONTEXT_EXACT)]
        ways += [(name, number) for number in code.numbers for name in (WORDS, CONTEXT_WORDS)]
        queries = [
            tantivy.Query.const_score_query(self._term(name, term), self._worth(code, self._rarity(name, term)))
            for name, term in ways
            if self.searcher.doc_freq(name, term)
        ]
        return tantivy.Query.disjunction_max_query(queries) if len(queries) > 1 else next(iter(queries), None)

    def _worth(self, code: AskedCode, rarity: float) -> float:
        if code.is_amount:
            return AMOUNT_WEIGHT * rarity
        of_parts = sum(max(self._rarity(name, part) for name in (WORDS, CONTEXT_WORDS)) for part in code.parts)
        return SATURATED * max(rarity, of_parts)

    def _character(self, character: str) -> tantivy.Query:
        ways = [(CHARACTERS, character), (CONTEXT_CHARACTERS, character)]
        return tantivy.Query.boost_query(self._best_of(ways), CHARACTER_BOOST)

    def _best_of(self, ways: Sequence[tuple[str, str]]) -> tantivy.Query:
        """Match any of the terms, (field, term) each, with the score of the best one."""
        queries = [self._weighted(name, term) for name, term in ways]
        return queries[0] if len(queries) == 1 else tantivy.Query.disjunction_max_query(queries)

    def _weighted(self, name: str, term: str) -> tantivy.Query:
        """Match a term with the rarity that it has in the field that holds it most often."""
        query, own = self._term(name, term), self._rarity(name, term)
        rarity = min(own, self._rarity(_OTHER[name], term) or own)
        return query if rarity == own else tantivy.Query.boost_query(query, rarity / own)

    def _rarity(self, name: str, term: str) -> float:
        """Return BM25's inverse document frequency."""
        holders = self.searcher.doc_freq(name, term)
        return math.log(1.0 + (self.searcher.num_docs - holders + 0.5) / (holders + 0.5)) if holders else 0.0

    def _term(self, name: str, term: str) -> tantivy.Query:
        return tantivy.Query.term_query(self.schema, name, term, "freq")


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
