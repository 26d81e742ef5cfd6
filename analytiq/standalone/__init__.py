"""Standalone operation on one machine: data directory, embedded database and supervised processes."""
