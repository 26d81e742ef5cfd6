"""Readers of services' own webhooks, a file each."""
