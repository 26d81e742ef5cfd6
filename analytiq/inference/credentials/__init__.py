"""Secrets: encryption of provider keys, and the choice of an organization's key for a provider."""
