"""Invariants of stored state, one module each: the rule, the search for violations, and the repair."""
