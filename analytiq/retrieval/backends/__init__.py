"""Retrieval backends: where the chunks of a knowledge base are found, by vectors and by keywords."""
