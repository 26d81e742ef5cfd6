"""Answer with language models: conversations, prompts, and the tool-calling engine of both."""
