"""A walk over the directory listings below an address, in the order of names, behind any position."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from analytiq.errors import AccessDeniedError, NotFoundError, PermanentError, RateLimitedError, TransientError
from analytiq.ingestion.sources.base import Accepts
from analytiq.ingestion.sources.connections.decoding import decoded
from analytiq.ingestion.sources.connections.service_client import ServiceClient
from analytiq.ingestion.sources.systems.indexes.page import MOST_ENTRIES, Entry, Listing, read_listing

DEEPEST = 20
"""Most folders within one another: links in a circle have no end."""
MOST_FOLDERS = 20_000
MOST_LISTING_BYTES = 12 * 1024 * 1024
FOLDERS_OF_BATCH = 20
"""Folders after which a position is stored, also without files."""

NO_LISTING = "The address shows a page that is no list of files. Use the kind `web` for pages."

Path = tuple[str, ...]
"""Percent-encoded parts of a path; those of folders end with a slash."""


class WalkPosition(BaseModel):
    """The path of the last listed file or folder, and the number of folders before."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    after: Path = ()
    folders: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """A file, or a folder that was listed or has a problem."""

    path: Path
    entry: Entry
    problem: str | None = None


class IndexWalk:
    """A walk below the address of a folder."""

    def __init__(self, client: ServiceClient, address: str, position: WalkPosition, skips: Accepts) -> None:
        self._client = client
        self._address = address
        self._skips = skips
        self._after = position.after
        self.folders = position.folders
        """Folders that were listed."""

    def steps(self) -> AsyncGenerator[Step]:
        """Yield all files, and each folder before its files.

        Raises:
            AnalytiqError: the first folder cannot be listed.
        """
        return self._below((), self._after)

    async def listing(self, path: Path) -> Listing:
        """Read the listing of a folder.

        Raises:
            AnalytiqError: there is none.
        """
        address = self._address + "".join(path)
        content = bytearray()
        async with self._client.stream("GET", address) as response:
            reached = str(response.url)
            async for block in decoded(response):
                content += block
                if len(content) > MOST_LISTING_BYTES:
                    raise PermanentError(f"The list has more than {MOST_LISTING_BYTES:,} bytes.")
        if not reached.startswith(self._address):
            raise PermanentError("The server redirects it to another place.")
        return await asyncio.to_thread(read_listing, bytes(content), address=address)

    async def _below(self, folder: Path, after: Path) -> AsyncGenerator[Step]:
        self.folders += 1
        place = Entry(folder[-1] if folder else "/")
        if self.folders > MOST_FOLDERS:
            yield Step(folder, place, problem=f"More than {MOST_FOLDERS:,} folders; the rest is left out.")
            return
        listing = await self._listing_or_problem(folder)
        if isinstance(listing, str):
            yield Step(folder, place, problem=f"{''.join(folder)}: {listing}")
            return
        if listing.is_cut:
            yield Step(folder, place, problem=f"{''.join(folder)}: has more than {MOST_ENTRIES:,} entries.")
        elif not after:  # a folder on the way to the position was told before
            yield Step(folder, place)
        for entry in listing.entries:
            if after and entry.name < after[0]:
                continue
            path = (*folder, entry.name)
            is_position = bool(after) and entry.name == after[0]
            if not entry.is_folder:
                if not (is_position and len(after) == 1):
                    yield Step(path, entry)
            elif len(path) > DEEPEST:
                yield Step(
                    path, entry, problem=f"{''.join(path[:3])}…: more than {DEEPEST} folders within one another."
                )
            else:
                if self._skips("".join(path)):
                    continue
                inner = self._below(path, after[1:] if is_position else ())
                try:
                    async for step in inner:
                        yield step
                finally:
                    await inner.aclose()

    async def _listing_or_problem(self, folder: Path) -> Listing | str:
        """Return the listing of a folder, or why there is none; a folder that is gone has no entries."""
        try:
            listing = await self.listing(folder)
        except NotFoundError:
            if not folder:
                raise
            return Listing((), is_listing=True)
        except (AccessDeniedError, PermanentError, TransientError) as error:
            if not folder or isinstance(error, RateLimitedError):
                raise
            return f"cannot be listed: {error.detail}"
        if listing.is_listing or listing.entries:
            return listing
        if not folder:
            raise PermanentError(NO_LISTING)
        return "shows a page in place of a list of files."
