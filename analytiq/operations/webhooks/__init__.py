"""Webhooks: events of an organization, sent to its endpoints."""
