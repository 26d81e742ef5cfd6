"""The collection of a document's pictures, open while its parser runs: parsers offer pictures without asking for whom.

The collector is set once in the child process that reads one document; elsewhere, offered pictures go nowhere.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from analytiq.ingestion.ocr.base import GreyImage


class Pictures(Protocol):
    """Takes pictures within its bounds; see `analytiq.ingestion.parsing.pictures`."""

    @property
    def wants_figures(self) -> bool:
        """True if figures are to be described."""
        ...

    @property
    def wants_scans(self) -> bool:
        """True if another scan may be added."""
        ...

    def add_figure(self, source: str, read: Callable[[], bytes]) -> str | None:
        """Take a figure from a file in the document, named `source`; return its key, None if it is left out."""
        ...

    def add_scan(self, image: GreyImage) -> str:
        """Take the image of a badly read page; return its key, "" if it is blank or beyond the bounds."""
        ...


_collecting: ContextVar[Pictures | None] = ContextVar("pictures_collected", default=None)


@contextmanager
def collecting(pictures: Pictures) -> Generator[None]:
    """Offer the pictures of documents read within the block to `pictures`."""
    token = _collecting.set(pictures)
    try:
        yield
    finally:
        _collecting.reset(token)


def figures_wanted() -> Pictures | None:
    """Return the collector, if figures are to be described."""
    pictures = _collecting.get()
    return pictures if pictures is not None and pictures.wants_figures else None


def scans_wanted() -> Pictures | None:
    """Return the collector, if it takes another badly read page."""
    pictures = _collecting.get()
    return pictures if pictures is not None and pictures.wants_scans else None
