"""Answer questions with passages: search, its filters and indexes, reranking, and places on pages."""
