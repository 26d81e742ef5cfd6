"""Stored models: frozen, one subject a file. HTTP has models of its own in `api.schemas`."""
