"""Embedding providers: the local model, and everything that LiteLLM reaches."""
