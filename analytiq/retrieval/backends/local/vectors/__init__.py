"""The vector index of a replica: the current vectors in memory, searched exactly, or by a graph."""
