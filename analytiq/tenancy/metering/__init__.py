"""Metering: an SPU is charged when an embedding is first stored (design 2.6)."""
