"""Reranking models: read a question and a passage together and score the answer."""
