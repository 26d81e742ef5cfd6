"""The reconciler process: repairs drift."""
