"""Pushes: requests to a source's inbound address, verified, and their items taken in."""
