"""Ingestion: upload, extraction, chunking and indexing of documents; tags and knowledge bases."""
