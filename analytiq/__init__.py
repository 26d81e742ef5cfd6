"""Analytiq: document processing with tag-driven knowledge bases on MongoDB."""

__version__ = "0.1.0"
