"""Prompts, their versions, runs and results.

`running` is the job of a run: the engine makes the moves that `plan` decides, and `recorder` stores each step.
"""
