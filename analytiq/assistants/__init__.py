"""Answers by language models: conversations, prompts, and the tool-calling engine of both."""
