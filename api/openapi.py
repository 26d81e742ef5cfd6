"""`python -m api.openapi`: the REST API's schema, for `docs/reference/openapi.json` and for generated clients."""

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from analytiq.composition import Services
from api.application import create_app


@asynccontextmanager
async def never_opened() -> AsyncGenerator[Services]:
    """Stand in for services, which are never used."""
    raise AssertionError("the schema is read without serving anything")
    yield


def schema_text() -> str:
    """Return the schema as JSON, the same at every call, without a database or settings."""
    return json.dumps(create_app(never_opened).openapi(), indent=2, ensure_ascii=False) + "\n"


def main() -> int:
    """Print the schema."""
    sys.stdout.write(schema_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
