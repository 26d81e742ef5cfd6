"""Pages of a list behind positions that the service names."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeVar

from analytiq.errors import NotFoundError, PermanentError

MOST_PAGES = 5000
"""Most calls of one listing."""
MOST_RESTARTS = 3


PageT = TypeVar("PageT")


async def pages_behind(
    position: str | None,
    ask: Callable[[str | None], Awaitable[PageT]],
    *,
    next_of: Callable[[PageT], str | None],
    service: str,
) -> AsyncGenerator[PageT]:
    """Yield the pages behind a position; after an expired one, all pages.

    `next_of` returns the position of the next page, None at the end.

    Raises:
        PermanentError: the request is refused, or the list repeats itself or has no end.
    """
    seen: set[str | None] = {position}
    restarts = 0
    for _ in range(MOST_PAGES):
        try:
            page = await ask(position)
        except (PermanentError, NotFoundError):
            restarts += 1
            if position is None or restarts > MOST_RESTARTS:
                raise
            # A position may end with the object that it names, and after some time.
            position, seen = None, {None}
            continue
        yield page
        position = next_of(page)
        if position is None:
            return
        if position in seen:
            raise PermanentError(f"{service} repeats a position of its list. Run it again later.")
        seen.add(position)
    raise PermanentError(f"{service} lists without end.")
