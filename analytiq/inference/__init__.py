"""Call models: embedding and chat models, their providers, and the keys that open them."""
