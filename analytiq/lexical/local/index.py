"""One knowledge base's index of words: adds, removes and finds. One writes at a time; searches may run beside."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import tantivy

from analytiq.lexical.base import LexicalHit
from analytiq.lexical.local.analysis import Terms, terms_of
from analytiq.lexical.local.languages import ENGLISH, language_of
from analytiq.lexical.local.selecting import Generations, compile_selection
from analytiq.models.selection import ChunkFilter
from analytiq.mongo.repositories.chunk_texts import ChunkText

WRITER_BYTES = 30_000_000
"""tantivy takes no less than 15 MB a thread; more makes fewer, larger segments."""
CODE_BOOST = 3.0
"""A code that is found whole is worth several of its parts, which stand in other codes too."""
RARE_LANGUAGE = 0.02
"""A language that so small a share of the chunks is in is not stemmed for in questions."""
TIES = 50
"""Read beyond the limit, so that equal scores at its edge are in order of document and chunk."""
SCORE_DECIMALS = 5


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for name in ("words", "codes", "singles"):
        # Terms come ready; the tokenizer only takes them apart again. Frequencies are for BM25, positions for nobody.
        builder.add_text_field(name, tokenizer_name="whitespace", index_option="freq")
    for name in ("generation", "chunk_index", "first_page", "last_page"):
        # Signed: tantivy 0.27's binding deletes nothing by the term of an unsigned field, and says nothing.
        builder.add_integer_field(name, indexed=True, fast=True)
    return builder.build()


@dataclass(slots=True)
class Contents:
    """What the index holds beside its terms: generations by number, and chunks by language."""

    generation_ids: dict[int, str] = field(default_factory=dict[int, str])
    document_ids: dict[int, str] = field(default_factory=dict[int, str])
    languages: Counter[str] = field(default_factory=Counter[str])
    languages_of: dict[int, Counter[str]] = field(default_factory=dict[int, Counter[str]])
    next_number: int = 0

    def numbers(self) -> dict[str, int]:
        """Generation id → number."""
        return {generation_id: number for number, generation_id in self.generation_ids.items()}


class WordIndex:
    """An index of tantivy's in a directory, or in memory where there is none."""

    def __init__(self, directory: Path | None, contents: Contents | None = None) -> None:
        self._schema = _schema()
        if directory is not None:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._index = tantivy.Index(self._schema, None if directory is None else str(directory))
        self._index.register_tokenizer(
            "whitespace", tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
        )
        self.contents = contents or Contents()
        self._index.reload()
        self._searcher = self._index.searcher()

    @property
    def chunk_count(self) -> int:
        """How many chunks can be found."""
        return int(self._searcher.num_docs)

    def writing(self) -> "Writing":
        """Begin a change; nothing of it is seen before it is committed."""
        return Writing(self._index, self.contents)

    def reload(self) -> None:
        """See what was committed."""
        self._index.reload()
        self._searcher = self._index.searcher()

    def search(self, question: str, *, limit: int, chunk_filter: ChunkFilter | None) -> list[LexicalHit]:
        """The chunks with the highest scores, best first; ties in order of document and chunk."""
        asked = self._query(question)
        if asked is None or limit <= 0:
            return []
        query = asked
        if chunk_filter is not None:
            generations = Generations(self.contents.document_ids)
            selected = compile_selection(self._schema, chunk_filter.selection, generations)
            if selected is None:
                return []
            query = tantivy.Query.boolean_query(
                [
                    (tantivy.Occur.Must, asked),
                    (tantivy.Occur.Must, tantivy.Query.const_score_query(selected, 0.0)),
                ]
            )
        searcher = self._searcher
        found = searcher.search(query, limit=limit + TIES, count=False).hits
        addresses = [address for _, address in found]
        columns = [searcher.fast_field_values(name, addresses) for name in ("generation", "chunk_index")]
        hits = [
            LexicalHit(
                generation_id=self.contents.generation_ids[int(generation)],
                document_id=self.contents.document_ids[int(generation)],
                chunk_index=int(chunk_index),
                score=round(float(score), SCORE_DECIMALS),
            )
            for (score, _), generation, chunk_index in zip(found, *columns, strict=True)
            if generation is not None and chunk_index is not None and int(generation) in self.contents.generation_ids
        ]
        hits.sort(key=lambda hit: (-hit.score, hit.document_id, hit.chunk_index))
        return hits[:limit]

    def _query(self, question: str) -> tantivy.Query | None:
        """Built from terms; what a person writes is never read as a language of queries."""
        clauses: list[tuple[tantivy.Occur, tantivy.Query]] = []
        by_language = [terms_of(question, language) for language in self._languages(question)]
        for term, boost in _weights(by_language).items():
            clauses.append((tantivy.Occur.Should, self._term("words", term, boost)))
        first = by_language[0]
        for code, count in Counter(first.codes).items():
            clauses.append((tantivy.Occur.Should, self._term("codes", code, CODE_BOOST * count)))
        if len(first.singles) == 1:
            clauses.append((tantivy.Occur.Should, self._term("singles", first.singles[0], 1.0)))
        return tantivy.Query.boolean_query(clauses) if clauses else None

    def _term(self, name: str, value: str, boost: float) -> tantivy.Query:
        query = tantivy.Query.term_query(self._schema, name, value, "freq")
        return query if boost == 1.0 else tantivy.Query.boost_query(query, boost)

    def _languages(self, question: str) -> list[str]:
        """Those of the chunks, most frequent first: a question is too short to tell its own."""
        total = sum(self.contents.languages.values())
        common = [name for name, count in self.contents.languages.most_common() if count >= RARE_LANGUAGE * total]
        return common or [language_of(question) if question else ENGLISH]


class Writing:
    """A change to an index; its files are locked meanwhile."""

    def __init__(self, index: tantivy.Index, contents: Contents) -> None:
        self._writer = index.writer(heap_size=WRITER_BYTES, num_threads=1)
        self._contents = contents
        self._numbers = contents.numbers()

    def add(self, chunks: Iterable[ChunkText]) -> None:
        """Add chunks; a generation's chunks may come in several calls."""
        for chunk in chunks:
            number = self._numbers.get(chunk.generation_id)
            if number is None:
                number = self._new_generation(chunk)
            language = language_of(chunk.text)
            self._contents.languages[language] += 1
            self._contents.languages_of[number][language] += 1
            self._writer.add_document(_document(chunk, number, terms_of(chunk.text, language)))

    def remove(self, generation_ids: Collection[str]) -> None:
        """Remove generations; those that are not there are no error."""
        for generation_id in generation_ids:
            number = self._numbers.pop(generation_id, None)
            if number is None:
                continue
            self._writer.delete_documents_by_term("generation", number)
            del self._contents.generation_ids[number]
            del self._contents.document_ids[number]
            self._contents.languages -= self._contents.languages_of.pop(number)

    def commit(self) -> int:
        """Make the change seen and durable; returns the mark that the files are then at."""
        mark = self._writer.commit()
        self._writer.wait_merging_threads()
        return int(mark)

    def _new_generation(self, chunk: ChunkText) -> int:
        number = self._contents.next_number
        self._contents.next_number += 1
        self._numbers[chunk.generation_id] = number
        self._contents.generation_ids[number] = chunk.generation_id
        self._contents.document_ids[number] = chunk.document_id
        self._contents.languages_of[number] = Counter()
        return number


def _document(chunk: ChunkText, number: int, terms: Terms) -> tantivy.Document:
    document = tantivy.Document()
    document.add_text("words", " ".join(terms.words))
    if terms.codes:
        document.add_text("codes", " ".join(terms.codes))
    if terms.singles:
        document.add_text("singles", " ".join(terms.singles))
    document.add_integer("generation", number)
    document.add_integer("chunk_index", chunk.chunk_index)
    document.add_integer("first_page", chunk.first_page)
    document.add_integer("last_page", chunk.last_page)
    return document


def _weights(by_language: Sequence[Terms]) -> dict[str, float]:
    """Term → boost. A word that is repeated counts as often; one that languages stem alike counts once."""
    weights: dict[str, float] = {}
    for terms in by_language:
        for term, count in Counter(terms.words).items():
            weights[term] = max(weights.get(term, 0.0), float(count))
    return weights
