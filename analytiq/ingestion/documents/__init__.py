"""The life of a document after its upload: list, change, re-extract, delete, clean."""
