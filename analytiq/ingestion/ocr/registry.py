"""OCR engines by name: built in, or from the entry point group `analytiq.ocr_engines`."""

from importlib.metadata import EntryPoint, entry_points
from typing import cast

from analytiq.errors import InvalidInputError
from analytiq.ingestion.ocr.base import OcrEngineFactory

ENTRY_POINT_GROUP = "analytiq.ocr_engines"

BUILT_IN_ENGINES = (EntryPoint("tesseract", "analytiq.ingestion.ocr.tesseract:TesseractEngine", ENTRY_POINT_GROUP),)


def load_engine(name: str) -> OcrEngineFactory:
    """Import and return the class of the engine `name`.

    Raises:
        InvalidInputError: no engine has that name; the message lists the known ones.
    """
    for built_in in BUILT_IN_ENGINES:
        if built_in.name == name:
            return cast("OcrEngineFactory", built_in.load())
    installed = entry_points(group=ENTRY_POINT_GROUP)
    if name in installed.names:
        return cast("OcrEngineFactory", installed[name].load())
    known = sorted({*installed.names, *(built_in.name for built_in in BUILT_IN_ENGINES)})
    raise InvalidInputError.of_field("ocr_engine", f"Unknown OCR engine {name!r}. Known engines: {', '.join(known)}.")
