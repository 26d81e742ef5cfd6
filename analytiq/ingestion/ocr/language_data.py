"""The OCR languages installed for Tesseract, read without loading Tesseract."""

from pathlib import Path

DEBIAN_DATA_ROOT = Path("/usr/share/tesseract-ocr")
"""Debian's root directory; the data of Tesseract 5 is in `5/tessdata` below it."""
NO_LANGUAGES = frozenset({"osd", "equ"})
"""Data for page orientation and formulas, not for languages."""


def debian_data_dir() -> Path | None:
    """Return the newest data directory of Debian's packages, or None."""
    found = sorted(DEBIAN_DATA_ROOT.glob("*/tessdata"))
    return found[-1] if found else None


def installed_languages(data_dir: Path | None = None) -> tuple[str, ...]:
    """Return Tesseract's codes (`eng`, `deu`, `chi_sim`) of the installed languages, sorted."""
    directory = data_dir or debian_data_dir()
    if directory is None:
        return ()
    names = {path.name.removesuffix(".traineddata") for path in directory.glob("*.traineddata")}
    return tuple(sorted(name for name in names - NO_LANGUAGES if name.replace("_", "").isalnum()))
