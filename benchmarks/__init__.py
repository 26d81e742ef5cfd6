"""Benchmarks: each module runs as `python -m benchmarks.<name>`; docs/reference/benchmarks.md has the figures."""
