"""Chunkers, which cut a text into slices of bounded size."""
