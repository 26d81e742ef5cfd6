"""Invariants of stored state, one module each: what must hold, how a violation is found, and how it is repaired."""
