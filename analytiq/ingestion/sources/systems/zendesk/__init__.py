"""Zendesk: articles of the help center, and tickets."""
