"""The REST API: a thin process over the library, with everything about HTTP."""
