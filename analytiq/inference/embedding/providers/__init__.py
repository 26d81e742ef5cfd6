"""Embedding providers: the local model, and every provider that LiteLLM reaches."""
