"""A PDF with the values of its form fields."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pypdfium2 ships without types.

import pypdfium2 as pdfium
from pypdfium2 import raw as pdfium_c

MOST_DRAWN_FIELDS = 1_000
"""Most annotations of a page whose fields are drawn: pdfium compares each field with all before (30,000 take 12 s)."""


class FormDocument(pdfium.PdfDocument):
    """A PDF whose pages draw their form fields, unless they have very many; `init_forms` comes before any page."""

    def get_page(self, index: int) -> pdfium.PdfPage:
        """Return a page (from 0), with its fields drawn if they are at most MOST_DRAWN_FIELDS."""
        form, self.formenv = self.formenv, None
        try:
            page: pdfium.PdfPage = super().get_page(index)
        finally:
            self.formenv = form
        if form is None or not 0 < pdfium_c.FPDFPage_GetAnnotCount(page) <= MOST_DRAWN_FIELDS:
            return page
        page.close()
        return super().get_page(index)
