"""Parsers: from the bytes of a file to pages of text."""
