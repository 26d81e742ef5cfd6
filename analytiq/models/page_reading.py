"""The owner's choice of how the pages of a PDF are read."""

from enum import StrEnum

PDF_TYPE = "application/pdf"


class PageReading(StrEnum):
    """The source of the text of a PDF's pages."""

    AUTO = "auto"
    """The text in the file; OCR for pages that are pictures."""
    OCR = "ocr"
    """OCR for every page."""
    OCR_FLAWED = "ocr_flawed"
    """OCR for pages that are pictures, and for those whose text in the file has a flaw or is missing."""
