"""Made files of any size: ordinary ones and costly ones of each format, for `benchmarks.file_growth`.

A shape returns about `size` bytes of content; of a packed format, before packing.
"""

from benchmarks.growing_mail import MAIL
from benchmarks.growing_packages import PACKAGES
from benchmarks.growing_pages import PAGES
from benchmarks.growing_texts import CODE, DATA, MARKUP, TEXTS
from benchmarks.growing_units import Make

SHAPES: dict[str, Make] = TEXTS | MARKUP | DATA | CODE | MAIL | PACKAGES | PAGES
"""Shapes by the name of the file that they make."""
