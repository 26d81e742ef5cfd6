"""Compilers of filters and selections, one for each store."""
