"""`python -m analytiq.cli`: the same as `analytiq`."""

from analytiq.cli.main import run

run()
