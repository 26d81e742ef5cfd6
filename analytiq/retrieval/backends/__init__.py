"""Retrieval backends: vector and keyword indexes of knowledge bases."""
