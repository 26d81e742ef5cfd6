"""Patterns that choose items of a source."""

import re
from fnmatch import translate

from analytiq.errors import InvalidInputError
from analytiq.ingestion.sources.base import Accepts
from analytiq.models.source import ItemFilters

MOST_PATTERNS = 100
LONGEST_PATTERN = 500
MOST_WILDCARDS = 10
"""Most `*` in a pattern; each multiplies the work of comparing a long address that does not match."""


def require_patterns(filters: ItemFilters) -> None:
    """Check the number and size of patterns.

    Raises:
        InvalidInputError: names the first wrong one.
    """
    for field, patterns in (("include", filters.include), ("exclude", filters.exclude)):
        if len(patterns) > MOST_PATTERNS:
            raise InvalidInputError.of_field(f"filters.{field}", f"More than {MOST_PATTERNS} patterns.")
        for index, pattern in enumerate(patterns):
            place = f"filters.{field}[{index}]"
            if not 1 <= len(pattern) <= LONGEST_PATTERN:
                raise InvalidInputError.of_field(place, f"Must have 1 to {LONGEST_PATTERN} characters.")
            if len(re.findall(r"\*+", pattern)) > MOST_WILDCARDS:
                raise InvalidInputError.of_field(place, f"Must have at most {MOST_WILDCARDS} wildcards `*`.")


def accepting(filters: ItemFilters) -> Accepts:
    """Return the test of a path or address by the patterns of a source; upper and lower case differ."""
    include, exclude = _compiled(filters.include), _compiled(filters.exclude)

    def accepts(name: str) -> bool:
        if include is not None and not include.match(name):
            return False
        return exclude is None or not exclude.match(name)

    return accepts


def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str] | None:
    return re.compile("|".join(translate(pattern) for pattern in patterns)) if patterns else None
