"""OCR engines, which read the image of a page as text."""
