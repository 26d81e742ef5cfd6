"""The one way to embed: cached by content, metered, rate-limited, through a provider."""
