"""Vectors found by MongoDB's own search server: `$vectorSearch`."""
