"""MongoDB's search server (mongot): its indexes on the collections of vectors, and its two stages.

indexes.py      the definitions, and creating, changing, awaiting and dropping them
predicates.py   a search filter → conditions on declared paths of a chunk: pure
rendering.py    conditions → the grammar of `$vectorSearch` and of `$search`: pure
questions.py    a question → clauses of `$search`: pure
rows.py         the queries
hits.py         from the server's finds to hits that are current and pass the filter

No search server was available here: the code was tried against an emulator that is part of the tests, written
from MongoDB's documentation (docs/decisions/0016-mongodb-vector-store.md).
"""
