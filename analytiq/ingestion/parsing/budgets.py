"""Budgets of a file, by its size and kind: the cost of reading it before it is given up.

A limit for the largest files is too high for small ones: a PDF of 3 KB with 400 pages that share one picture took ten
minutes of OCR, and a workbook of 403 KB 1.5 GB of memory.
"""

import math
from dataclasses import dataclass

MEBIBYTE = 1024 * 1024
SMALL_GRANT_BYTES = 768 * MEBIBYTE
"""Enough for the OCR of a page and for every file of the parsers' tests."""
BYTES_A_BYTE = 64
"""Memory beyond that, granted to a parser at first for each byte of a file; compressed files may need more: see
`MemoryBudget`."""

_PICTURES = ("application/pdf", "image/")


@dataclass(frozen=True, slots=True)
class ProcessorBudget:
    """Seconds of processor time for a file: `least`, and more for each MiB, up to `most`.

    A page that is a picture takes 1 to 8 seconds of OCR and has at least 4 KiB: the size bounds the number of pages of
    a PDF or a picture.
    """

    least: int
    per_mebibyte: int
    per_mebibyte_of_pictures: int
    most: int

    def seconds(self, byte_size: int, content_type: str) -> int:
        """Return the budget of a file of this size."""
        has_pictures = content_type.startswith(_PICTURES)
        rate = self.per_mebibyte_of_pictures if has_pictures else self.per_mebibyte
        return min(self.most, self.least + math.ceil(byte_size * rate / MEBIBYTE))


def first_grant(byte_size: int, most: int) -> int:
    """Return the first memory grant for parsing a file."""
    return min(most, SMALL_GRANT_BYTES + byte_size * BYTES_A_BYTE)
