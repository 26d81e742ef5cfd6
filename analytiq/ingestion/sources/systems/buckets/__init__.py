"""Buckets: the listing, the keys and the requests that object stores have in common."""
