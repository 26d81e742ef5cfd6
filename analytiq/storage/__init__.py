"""MongoDB: the connection, transactions, the embedded server, collections, indexes and repositories.

No other package imports pymongo.
"""
