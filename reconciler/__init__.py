"""The reconciler process, which repairs drift."""
