"""A third retrieval backend, as another package would bring it: SQLite's FTS5 and brute-force vectors."""
