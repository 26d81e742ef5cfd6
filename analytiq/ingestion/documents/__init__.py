"""Documents after their upload: list, change, re-extract, delete, clean."""
