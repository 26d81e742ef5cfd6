"""Search by words: BM25 over the chunks of a knowledge base."""
