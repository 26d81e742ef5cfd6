"""The REST API: a thin process over the library. It knows HTTP; the library does not."""
