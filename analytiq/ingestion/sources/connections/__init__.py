"""Connections to other systems: checked addresses, requests, access tokens, and answers as models."""
