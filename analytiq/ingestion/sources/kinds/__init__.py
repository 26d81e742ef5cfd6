"""The built-in kinds of sources, a file each."""
