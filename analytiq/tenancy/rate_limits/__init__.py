"""Limits of calls, tokens and documents per minute, enforced across workers, processes and machines."""
