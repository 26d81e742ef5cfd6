"""The fields of a keyword index, and the conversion of chunks to rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import tantivy

from analytiq.retrieval.terms.analysis import chunk_terms, context_terms
from analytiq.storage.repositories.index_contents import ChunkText

WORDS = "words"
EXACT = "exact"
CHARACTERS = "characters"
CONTEXT_WORDS = "context_words"
CONTEXT_EXACT = "context_exact"
CONTEXT_CHARACTERS = "context_characters"
"""The terms of the chunk's context, apart from those of its text: a word counts in the better of the two."""
FIELDS = (WORDS, EXACT, CHARACTERS, CONTEXT_WORDS, CONTEXT_EXACT, CONTEXT_CHARACTERS)
"""The fields with terms, each with lengths and frequencies of its own."""
LANGUAGE = "language"
STATE_TERM = "\ue000"
"""A term of the state's row in every field, by which the library tells the field's statistics; no text has it."""


@cache
def schema() -> tantivy.Schema:
    """Return the schema, the same for every index."""
    builder = tantivy.SchemaBuilder()
    for name in FIELDS:
        # Terms come ready: the tokenizer only takes them apart again. Frequencies are for BM25, positions for nobody.
        builder.add_text_field(name, tokenizer_name="whitespace", index_option="freq")
    for name in ("generation", "document"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic", stored=True)
    builder.add_text_field(LANGUAGE, tokenizer_name="raw", index_option="basic")
    for name in ("chunk_index", "first_page", "last_page"):
        builder.add_integer_field(name, stored=True, fast=True)
    # One row has these two and nothing else: what the others are of, in the same commit as they are.
    builder.add_text_field("is_state", tokenizer_name="raw", index_option="basic")
    builder.add_bytes_field("state", stored=True)
    return builder.build()


@dataclass(frozen=True, slots=True)
class Row:
    """A chunk, without its text, and its terms by field, separated by spaces.

    `language`: of its words in Latin script.
    """

    chunk: ChunkText
    terms: dict[str, str]
    language: str | None

    @property
    def document(self) -> tantivy.Document:
        """The library's form of the row."""
        row = tantivy.Document()
        row.add_text("generation", self.chunk.generation_id)
        row.add_text("document", self.chunk.document_id)
        row.add_integer("chunk_index", self.chunk.chunk_index)
        row.add_integer("first_page", self.chunk.first_page)
        row.add_integer("last_page", self.chunk.last_page)
        for name, value in self.terms.items():
            row.add_text(name, value)
        if self.language is not None:
            row.add_text(LANGUAGE, self.language)
        return row


def rows_of(chunks: Sequence[ChunkText], languages: dict[str, str]) -> Iterator[Row]:
    """Yield the rows of chunks by the terms of their texts and contexts.

    `languages`: of the earlier chunks of each generation, by its id; this call updates them.
    """
    for chunk in chunks:
        terms = chunk_terms(chunk.text, language=languages.get(chunk.generation_id))
        if terms.language is not None:
            languages[chunk.generation_id] = terms.language
        context = context_terms(chunk.context, languages.get(chunk.generation_id))
        fields = {
            WORDS: terms.words,
            EXACT: terms.exact,
            CHARACTERS: terms.characters,
            CONTEXT_WORDS: context.words,
            CONTEXT_EXACT: context.exact,
            CONTEXT_CHARACTERS: context.characters,
        }
        yield Row(
            replace(chunk, text="", context=""),
            {name: value for name, value in fields.items() if value},
            terms.language,
        )


def state_row(state: bytes) -> tantivy.Document:
    """Return the row that stores the identity of the index."""
    row = tantivy.Document()
    row.add_text("is_state", "true")
    row.add_bytes("state", state)
    for name in FIELDS:
        row.add_text(name, STATE_TERM)
    return row
