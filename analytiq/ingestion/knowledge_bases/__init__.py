"""The life of a knowledge base: create, change, activate, count, delete."""
