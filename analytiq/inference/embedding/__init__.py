"""Embedding: cached by content, metered, rate-limited, through a provider."""
