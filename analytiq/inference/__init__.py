"""Models: embedding, chat and reranking calls, their providers, and the keys for them."""
