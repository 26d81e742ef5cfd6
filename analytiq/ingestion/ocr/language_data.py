"""The OCR languages installed for Tesseract, read without loading Tesseract."""

from pathlib import Path

DEBIAN_DATA_ROOT = Path("/usr/share/tesseract-ocr")
"""Debian puts the data of Tesseract 5 into `5/tessdata` below it."""
NO_LANGUAGES = frozenset({"osd", "equ"})
"""Data for finding how a page lies, and for formulas: nobody writes in them."""


def debian_data_dir() -> Path | None:
    """Return the newest data directory that Debian's packages have filled, or None."""
    found = sorted(DEBIAN_DATA_ROOT.glob("*/tessdata"))
    return found[-1] if found else None


def installed_languages(data_dir: Path | None = None) -> tuple[str, ...]:
    """Tesseract's codes (`eng`, `deu`, `chi_sim`) of the languages whose data is installed, sorted."""
    directory = data_dir or debian_data_dir()
    if directory is None:
        return ()
    names = {path.name.removesuffix(".traineddata") for path in directory.glob("*.traineddata")}
    return tuple(sorted(name for name in names - NO_LANGUAGES if name.replace("_", "").isalnum()))
