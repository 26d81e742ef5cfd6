"""Answer with language models: conversations, prompts, and the loop that calls tools for both."""
