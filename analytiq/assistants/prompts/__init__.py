"""Prompts, their versions, runs and results.

`running` is the job of a run: it lets the engine make the moves that `plan` decides, and `recorder` stores each step.
"""
