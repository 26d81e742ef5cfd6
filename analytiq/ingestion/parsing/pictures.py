"""The pictures of one document, made ready for a vision model within bounds: decoded, checked, scaled down."""

import base64
import hashlib
import io
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

from PIL import Image, ImageOps

from analytiq.ingestion.ocr.base import GreyImage
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.models.pictures import Figure, Picture
from analytiq.models.text import ParsedDocument, ParsedPage

MOST_FIGURES = 100
MOST_SCANS = 100
MOST_SOURCES = 500
"""Most pictures that are decoded, those left out included."""
MOST_BYTES = 32 * 1024 * 1024
"""Most bytes of all pictures of a document, which its parser holds in memory."""
MOST_SECONDS = 20.0
"""Most processor time for figures, half of what the smallest file may use: they must not cost a document its text."""
MOST_PIXELS = 40_000_000
"""A decoded picture of this size takes 120 MB."""
FIGURE_SIDE_PIXELS = 1_568
"""Providers scale larger pictures down to about this."""
SCAN_SIDE_PIXELS = 2_200
LEAST_SIDE_PIXELS = 64
LEAST_PIXELS = 12_000
"""Icons, bullets and small logos have fewer."""
LARGEST_RATIO = 12
"""Of the sides: lines and borders exceed it."""
DECORATIVE_REPEATS = 3
"""A picture that stands at this many places is a logo or a background."""
_FLAT_RANGE = 12
_DRAWN_COLORS = 256
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP")


class DocumentPictures:
    """Collects figures and badly read pages; `finished` puts them into the document."""

    def __init__(self, options: ParseOptions) -> None:
        self.wants_figures = options.describes_figures
        self._reads_scans = options.reads_scans
        self._pictures: dict[str, Picture] = {}
        self._bytes = 0
        self._seconds = 0.0
        self._scans = 0
        self._keys: dict[str, str | None] = {}
        self._places: Counter[str] = Counter()
        self._unreadable = 0
        self._beyond = 0

    @property
    def wants_scans(self) -> bool:
        """See `Pictures`."""
        return self._reads_scans and self._scans < MOST_SCANS and self._bytes < MOST_BYTES

    def add_figure(self, source: str, read: Callable[[], bytes]) -> str | None:
        """See `Pictures`; each source is read once."""
        if source not in self._keys:
            if len(self._keys) >= MOST_SOURCES:
                self._beyond += 1
                return None
            started = time.process_time()
            self._keys[source] = self._decoded(read)
            self._seconds += time.process_time() - started
        key = self._keys[source]
        if key is not None:
            self._places[key] += 1
        return key

    def add_scan(self, image: GreyImage) -> str:
        """See `Pictures`."""
        page = Image.frombytes("L", (image.width, image.height), image.pixels)
        if not self.wants_scans or _is_flat(page):
            return ""
        self._scans += 1
        page.thumbnail((SCAN_SIDE_PIXELS, SCAN_SIDE_PIXELS))
        return self._kept(page)

    def finished(self, document: ParsedDocument) -> ParsedDocument:
        """Return the document with its pictures: each figure at its first place, without repeated decoration."""
        seen: set[str] = set()
        pages = tuple(self._with_figures(page, seen) for page in document.pages)
        used = seen | {page.scan for page in pages}
        pictures = {key: picture for key, picture in self._pictures.items() if key in used}
        return replace(document, pages=pages, pictures=pictures, warnings=(*document.warnings, *self._warnings()))

    def _with_figures(self, page: ParsedPage, seen: set[str]) -> ParsedPage:
        figures: list[Figure] = []
        for figure in page.figures:
            if figure.picture in seen or self._places[figure.picture] >= DECORATIVE_REPEATS:
                continue
            if len(seen) >= MOST_FIGURES:
                self._beyond += 1
                continue
            seen.add(figure.picture)
            figures.append(figure)
        return replace(page, figures=tuple(figures))

    def _warnings(self) -> Iterator[str]:
        if self._unreadable:
            noun = "picture is" if self._unreadable == 1 else "pictures are"
            yield f"{self._unreadable} {noun} in a format that is not described (such as EMF or SVG), or damaged."
        if self._beyond:
            yield (
                f"{self._beyond} figures were not described: a document may have {MOST_FIGURES}, of"
                f" {MOST_BYTES // 2**20} MB and {MOST_SECONDS:g} seconds of work together. Split it."
            )

    def _decoded(self, read: Callable[[], bytes]) -> str | None:
        if self._bytes >= MOST_BYTES or self._seconds >= MOST_SECONDS:
            self._beyond += 1
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with Image.open(io.BytesIO(read()), formats=_FORMATS) as opened:
                    if not _is_figure(opened.width, opened.height):
                        return None
                    if opened.width * opened.height > MOST_PIXELS:
                        self._beyond += 1
                        return None
                    opened.draft("RGB", (FIGURE_SIDE_PIXELS, FIGURE_SIDE_PIXELS))
                    image = _on_white(ImageOps.exif_transpose(opened))
        except Exception:  # noqa: BLE001 -- whatever a decoder raises, a picture must not cost the document its text
            self._unreadable += 1
            return None
        image.thumbnail((FIGURE_SIDE_PIXELS, FIGURE_SIDE_PIXELS))
        return None if _is_flat(image) else self._kept(image)

    def _kept(self, image: Image.Image) -> str:
        target = io.BytesIO()
        is_drawn = image.getcolors(_DRAWN_COLORS) is not None
        if is_drawn:
            image.save(target, "PNG", optimize=False)
        else:
            image.save(target, "JPEG", quality=85)
        content = target.getvalue()
        key = hashlib.sha256(content).hexdigest()
        if key not in self._pictures:
            self._bytes += len(content)
            data = base64.b64encode(content).decode("ascii")
            self._pictures[key] = Picture("image/png" if is_drawn else "image/jpeg", data)
        return key


def _is_figure(width: int, height: int) -> bool:
    """Return True for a picture that is neither tiny nor a line."""
    least, most = sorted((width, height))
    return least >= LEAST_SIDE_PIXELS and width * height >= LEAST_PIXELS and most <= LARGEST_RATIO * least


def _on_white(image: Image.Image) -> Image.Image:
    """Return a picture in RGB or grey, on white if transparent."""
    if image.mode in {"RGBA", "LA", "PA"} or "transparency" in image.info:
        opaque = Image.new("RGBA", image.size, "white")
        opaque.alpha_composite(image.convert("RGBA"))
        return opaque.convert("RGB")
    if image.mode.startswith("I;16"):
        return image.convert("I").point(lambda value: value / 256).convert("L")
    return image if image.mode in {"RGB", "L"} else image.convert("RGB")


def _is_flat(image: Image.Image) -> bool:
    """Return True for a picture of one color, such as a background or a blank page."""
    low, high = image.convert("L").getextrema()
    return isinstance(low, int | float) and isinstance(high, int | float) and high - low <= _FLAT_RANGE
