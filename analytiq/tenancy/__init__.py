"""Tenants and their separation: organizations, people, usage and limits."""
