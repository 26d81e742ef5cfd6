"""MongoDB: the connection, transactions, the embedded server, collections, indexes and repositories.

pymongo is imported here and in `analytiq.retrieval.vector_stores`, nowhere else.
"""
