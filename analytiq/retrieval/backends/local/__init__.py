"""The local backend: a replica of each knowledge base in this process, with a vector and a keyword index."""
