"""Metering: an SPU is charged when an embedding is first stored (docs/decisions/0012-metering.md)."""
