"""Prompts: their versions, when they run by themselves, their runs and results. The loop itself is `analytiq.agent`."""
