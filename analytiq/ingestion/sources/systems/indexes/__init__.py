"""Directory listings of web servers."""
