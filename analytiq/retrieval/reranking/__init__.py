"""Reranking models: they read question and passage together and score the passage as an answer."""
