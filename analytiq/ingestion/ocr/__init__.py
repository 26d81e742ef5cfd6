"""OCR engines: from the image of a page to its text."""
