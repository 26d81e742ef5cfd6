"""Contents of fetched items, as they are streamed."""

from collections.abc import AsyncIterator

from analytiq.errors import NotFoundError
from analytiq.ingestion.sources.base import ItemGoneError


async def whole(content: bytes) -> AsyncIterator[bytes]:
    """Yield a content that is in memory."""
    yield content


async def text(page: str) -> AsyncIterator[bytes]:
    """Yield a text in UTF-8; halves of surrogate pairs become question marks."""
    yield page.encode("utf-8", "replace")


async def existing(content: AsyncIterator[bytes], *, what_happened: str = "Deleted") -> AsyncIterator[bytes]:
    """Yield a content.

    Raises:
        ItemGoneError: the service does not find it any more.
    """
    try:
        async for block in content:
            yield block
    except NotFoundError:
        raise ItemGoneError(f"{what_happened} while the run was going on.") from None
