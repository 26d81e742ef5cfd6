"""The command line: `analytiq`."""
