"""Reconciliation: finds where state has departed from intent, and enqueues the repair.

It writes no vectors: what it finds, jobs mend, by the same code paths that triggers use. A pass over a healthy
system writes nothing.
"""
