"""Stored shapes: frozen, one subject a file. HTTP has shapes of its own in `api.schemas`."""
