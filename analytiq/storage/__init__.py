"""MongoDB: the connection, transactions, the embedded server, collections, indexes and repositories.

pymongo is imported here, nowhere else.
"""
