"""Server-sent events, read from the lines of the open stream."""

import json
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from analytiq.client.steps import ReadLine, Step


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """An event of a stream; `id` is empty where the server sends none."""

    id: str
    name: str
    data: dict[str, Any]


def next_event() -> Generator[Step, Any, ServerEvent | None]:
    """Read the next event; skip comments and `retry`; return None at the end of the stream."""
    fields: dict[str, str] = {}
    while True:
        line: str | None = yield ReadLine()
        if line is None:
            return None
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        elif "data" in fields:
            return ServerEvent(fields.get("id", ""), fields.get("event", ""), json.loads(fields["data"]))
        elif "id" in fields:
            return ServerEvent(fields["id"], "", {})
        else:
            fields = {}
