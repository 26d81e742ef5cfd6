"""Pages of a list that name the next one in the header `Link`."""

from collections.abc import AsyncGenerator

from analytiq.errors import PermanentError
from analytiq.ingestion.sources.connections.service_client import Answer, ServiceClient


async def linked_pages(
    client: ServiceClient, first: Answer, *, most_pages: int, service: str
) -> AsyncGenerator[Answer]:
    """Yield the first page of a list and those that follow.

    Raises:
        PermanentError: the list has no end.
    """
    answer = first
    seen: set[str] = set()
    for _ in range(most_pages):
        yield answer
        following = answer.link("next")
        if following is None:
            return
        if following in seen:
            break
        seen.add(following)
        answer = await client.ask(following)
    raise PermanentError(f"{service} lists pages without end. Run again later.")
