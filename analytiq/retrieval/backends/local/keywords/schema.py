"""The fields of a keyword index, and the conversion of chunks to rows."""

from functools import cache

import tantivy

from analytiq.retrieval.terms.analysis import ChunkTerms
from analytiq.storage.repositories.index_contents import ChunkText

WORDS = "words"
EXACT = "exact"
CHARACTERS = "characters"
CONTEXT_WORDS = "context_words"
CONTEXT_EXACT = "context_exact"
CONTEXT_CHARACTERS = "context_characters"
"""The terms of the chunk's context, apart from those of its text: a word counts in the better of the two."""
LANGUAGE = "language"


@cache
def schema() -> tantivy.Schema:
    """Return the schema, the same for every index."""
    builder = tantivy.SchemaBuilder()
    for name in (WORDS, EXACT, CHARACTERS, CONTEXT_WORDS, CONTEXT_EXACT, CONTEXT_CHARACTERS):
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


def row_of(chunk: ChunkText, terms: ChunkTerms, context: ChunkTerms) -> tantivy.Document:
    """Return the row that indexes a chunk by the terms of its text and of its context."""
    row = tantivy.Document()
    row.add_text("generation", chunk.generation_id)
    row.add_text("document", chunk.document_id)
    row.add_integer("chunk_index", chunk.chunk_index)
    row.add_integer("first_page", chunk.first_page)
    row.add_integer("last_page", chunk.last_page)
    row.add_text(WORDS, terms.words)
    optional = {
        EXACT: terms.exact,
        CHARACTERS: terms.characters,
        CONTEXT_WORDS: context.words,
        CONTEXT_EXACT: context.exact,
        CONTEXT_CHARACTERS: context.characters,
    }
    for name, value in optional.items():
        if value:
            row.add_text(name, value)
    if terms.language is not None:
        row.add_text(LANGUAGE, terms.language)
    return row


def state_row(state: bytes) -> tantivy.Document:
    """Return the row that stores the identity of the index."""
    row = tantivy.Document()
    row.add_text("is_state", "true")
    row.add_bytes("state", state)
    return row
