"""Runs: a source is listed, compared with what is known, and taken in."""
