"""Upkeep of the installation: consistency checks, backups, erasure, live events."""
