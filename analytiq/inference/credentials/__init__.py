"""Secrets: encryption of provider keys, and which key an organization uses for a provider."""
