"""Rich text, by striprtf: its words without its formatting, in one page."""

import codecs
import re
from pathlib import Path
from typing import cast

from striprtf.striprtf import rtf_to_text  # pyright: ignore[reportUnknownVariableType] -- striprtf has no types

from analytiq.errors import CorruptFileError
from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.models.text import ParsedDocument, ParsedPage

_CODE_PAGE = re.compile(rb"\\ansicpg(\d{1,5})")
_USUAL_CODE_PAGE = "cp1252"
_BLANK_LINES = re.compile(r"\n{3,}")


class RtfParser:
    """Paragraphs as lines, and the cells of a table separated by bars."""

    content_types = ("application/rtf",)
    extensions = (".rtf",)

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read the file in the code pages that it names; each font may have its own."""
        data = path.read_bytes()
        code_page = _code_page(data)
        try:
            # striprtf looks for the addresses of links by a pattern that takes the square of a line's length (208 kB of
            # fields: 3.6 s of processor time), and addresses are noise to a search. The blank hides them from it.
            source = data.decode(code_page, errors="replace").replace("\\fldinst{", "\\fldinst {")
            text = cast("str", rtf_to_text(source, encoding=code_page, errors="replace"))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise CorruptFileError(f"The rich text is damaged ({error}): save it again.") from error
        report_progress(1, 1)
        return ParsedDocument((ParsedPage(1, _BLANK_LINES.sub("\n\n", _joined_surrogates(text)).strip()),))


def _code_page(data: bytes) -> str:
    named = _CODE_PAGE.search(data, 0, 4096)
    code_page = f"cp{named[1].decode('ascii')}" if named else _USUAL_CODE_PAGE
    try:
        codecs.lookup(code_page)
    except LookupError:
        return _USUAL_CODE_PAGE
    return code_page


def _joined_surrogates(text: str) -> str:
    """Join the halves of emoji, which rich text writes separately and which are no characters alone."""
    return text.encode("utf-16-le", errors="surrogatepass").decode("utf-16-le", errors="replace")
