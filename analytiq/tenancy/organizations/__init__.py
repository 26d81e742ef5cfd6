"""Organizations and their access tokens."""
