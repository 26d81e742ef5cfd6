"""Extraction: from an uploaded file to its text by page, in a child process that may be killed."""
