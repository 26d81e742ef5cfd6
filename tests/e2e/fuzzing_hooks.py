"""Hooks of schemathesis for `test_schema_fuzzing.py`: bodies of types that it cannot write by itself."""

from typing import Any

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def as_lines(_: Any, value: str | bytes) -> bytes:
    """Return the text that the schema describes as it is."""
    return value if isinstance(value, bytes) else str(value).encode()
