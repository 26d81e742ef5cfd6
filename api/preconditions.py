"""Conditional requests: a change applies only to the version its caller has seen (RFC 9110, section 13)."""

import re
from typing import Annotated

from fastapi import Header

from analytiq.errors import InvalidInputError

IfMatch = Annotated[
    str | None,
    Header(
        alias="If-Match",
        description="The `ETag` of the version to change. If the current version is another, nothing changes and the"
        " response is 412 (`stale_version`). Default: any version",
    ),
]

_VERSION = re.compile(r'"(\d{1,15})"')


def etag_of(version: int) -> str:
    """Return the entity tag of a numbered version."""
    return f'"{version}"'


def version_of(if_match: str | None) -> int | None:
    """Return the version that an `If-Match` names; None for any.

    Raises:
        InvalidInputError: the value is not an entity tag of this API.
    """
    if if_match is None or if_match.strip() == "*":
        return None
    match = _VERSION.fullmatch(if_match.strip())
    if match is None:
        raise InvalidInputError.of_field("If-Match", f"Send the ETag as it was answered, such as {etag_of(3)}, or *.")
    return int(match.group(1))
