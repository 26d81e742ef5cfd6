"""Chunkers: from a text to slices of bounded size."""
