"""Keep prompts and their versions, run them by themselves or when asked, keep runs and results.

The loop that asks the model is `analytiq.assistants.agent`.
"""
