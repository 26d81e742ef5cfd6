"""Rows of SQL databases as documents."""
