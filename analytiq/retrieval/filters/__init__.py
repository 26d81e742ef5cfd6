"""Search filters, from a caller's JSON to the query of each store.

- `parser` reads JSON into the typed tree of `tree`, which also defines what a filter means.
- `tag_names` and `declared_types` resolve a tree: tag names to ids, literals to the declared types of metadata.
- `selection` answers the questions about documents once, and leaves ids of documents and pages for the local stores.
- `projection` turns a document's metadata into the terms by which MongoDB's search server filters its chunks.
- `rendering` writes a tree for people.
- `compilers` holds one module for each language: `documents` (queries on `docs`), `local_vectors` (NumPy masks),
  `local_keywords` (tantivy queries), `mongodb_search` (conditions of MongoDB's search server).
"""
