"""Reconciliation: finds stored state that departs from the intended state, and enqueues repairs.

The reconciler writes no vectors: jobs repair its findings, by the same code paths that triggers use. A pass over a
healthy system writes nothing.
"""
