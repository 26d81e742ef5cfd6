"""Periodic work: one process leads, and runs the tasks of the platform and of its organizations when they are due."""
