"""The shared use of LiteLLM: its import, its silence, and the meaning of its errors."""
