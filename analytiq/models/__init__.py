"""Stored shapes: frozen, one subject a file. What travels over HTTP has shapes of its own in `api.schemas`."""
