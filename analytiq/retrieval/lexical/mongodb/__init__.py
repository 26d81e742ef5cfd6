"""Words found by MongoDB's own search server: `$search`."""
