"""Logs, metrics, traces, and the checkpoints of fault tests."""
