"""Images of text: PNG, JPEG, TIFF with its pages, WebP, BMP, GIF."""

import warnings
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from PIL import Image, ImageOps, ImageSequence, UnidentifiedImageError

from analytiq.errors import CorruptFileError, LimitExceededError
from analytiq.ingestion.ocr.base import GreyImage
from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.figures import figures_wanted
from analytiq.ingestion.parsing.page_images import (
    RENDER_DOTS_PER_INCH,
    PageImageReader,
    scale_to_limit,
)
from analytiq.models.pictures import Figure
from analytiq.models.text import ParsedDocument, ParsedPage

MAX_DECODED_PIXELS = 200_000_000
"""Most pixels of one frame, which takes up to 800 MB decoded. A bomb of a few kilobytes declares billions."""

SMALL_SIDE_PIXELS = 1600
ENLARGED_SIDE_PIXELS = 2400
MAX_ENLARGEMENT = 3.0
"""A picture with a small longer side is enlarged: a page of 612 x 792 pixels gave 1,412 characters at
confidence 48 unscaled, 3,453 at 86 three times as large."""

PLAUSIBLE_DOTS_PER_INCH = range(150, 1201)
"""At 72 dpi, Tesseract takes ordinary letters for huge ones and drops most of a page."""


class ImageParser:
    """Each page of a TIFF is a page; of other formats, the first frame counts, since animations repeat themselves."""

    content_types = ("image/png", "image/jpeg", "image/tiff", "image/webp", "image/bmp", "image/gif")
    extensions = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp", ".gif")

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Recognise the text of every page."""
        with guarded():
            return self._read(path, options, report_progress)

    def _read(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        pages: list[ParsedPage] = []
        with closing(PageImageReader(options)) as reader, Image.open(path) as image:
            total = int(getattr(image, "n_frames", 1)) if image.format == "TIFF" else 1
            if total > options.max_pages:
                raise LimitExceededError(
                    f"The image has {total} pages; at most {options.max_pages} are read. Split it."
                )
            for page_number, frame in enumerate(ImageSequence.Iterator(image), start=1):
                if page_number > total:
                    break
                page = reader.read(page_number, grey_image(frame))
                pages.append(_with_figure(page, path) if total == 1 else page)
                report_progress(page_number, total)
            return ParsedDocument(tuple(pages), reader.warnings())


def _with_figure(page: ParsedPage, path: Path) -> ParsedPage:
    """Place the whole picture behind the words on it, if pictures are to be described."""
    pictures = figures_wanted()
    key = None if pictures is None else pictures.add_figure(path.name, path.read_bytes)
    return page if key is None else replace(page, figures=(Figure(key, len(page.text)),))


@contextmanager
def guarded() -> Generator[None]:
    """Turn errors about bombs and damaged pictures within the block into those of the library.

    Raises:
        LimitExceededError: too many pixels.
        CorruptFileError: Pillow cannot read it.
    """
    Image.MAX_IMAGE_PIXELS = MAX_DECODED_PIXELS
    with warnings.catch_warnings():
        # Above the limit Pillow warns, above twice the limit it refuses; here both refuse.
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        warnings.filterwarnings("ignore", category=UserWarning)  # odd metadata hurts no pixel
        try:
            yield
        except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
            raise LimitExceededError(
                f"The image has too many pixels ({error}); at most {MAX_DECODED_PIXELS} are read. Scale it down."
            ) from error
        except (UnidentifiedImageError, OSError, SyntaxError, ValueError, EOFError) as error:
            raise CorruptFileError(f"The image is damaged ({error}): upload an undamaged copy.") from error


def grey_image(frame: Image.Image) -> GreyImage:
    """Return a frame as displayed: rotated by its EXIF, on white if transparent, in grey."""
    upright = ImageOps.exif_transpose(frame)
    if upright.mode in {"RGBA", "LA", "PA"} or "transparency" in upright.info:
        opaque = Image.new("RGBA", upright.size, "white")
        opaque.alpha_composite(upright.convert("RGBA"))
        upright = opaque
    # 16-bit scans convert to 8 bits by clipping, which turns them white; scale them instead.
    if upright.mode.startswith("I;16"):
        upright = upright.convert("I").point(lambda value: value / 256)
    grey = upright.convert("L")
    scale = _reading_scale(grey.width, grey.height)
    if scale != 1.0:
        size = (max(round(grey.width * scale), 1), max(round(grey.height * scale), 1))
        grey = grey.resize(size, Image.Resampling.LANCZOS)
    return GreyImage(grey.tobytes(), grey.width, grey.height, _dots_per_inch(frame, scale))


def _reading_scale(width: int, height: int) -> float:
    """Return the scale at which Tesseract reads a picture well and within its memory."""
    longer = max(width, height)
    if longer < SMALL_SIDE_PIXELS:
        return min(MAX_ENLARGEMENT, ENLARGED_SIDE_PIXELS / longer)
    return scale_to_limit(width, height, 1.0)


def _dots_per_inch(frame: Image.Image, scale: float) -> int:
    """Return the declared resolution if plausible; screenshots declare 72 or nothing, some scanners 1."""
    declared = frame.info.get("dpi", (0, 0))
    try:
        value = round(float(declared[0]) * scale)
    except (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError):
        return RENDER_DOTS_PER_INCH
    return value if value in PLAUSIBLE_DOTS_PER_INCH else RENDER_DOTS_PER_INCH
