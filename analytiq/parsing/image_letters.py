"""Where the words of a picture stand, by OCR."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from analytiq.models.geometry import PageLetters
from analytiq.parsing.base import ParseOptions, ReportProgress
from analytiq.parsing.image import frames, grey_image
from analytiq.parsing.letters import LetterGatherer
from analytiq.parsing.page_images import PageImageReader


class ImageLetters:
    """Reads a picture as `ImageParser` does, and keeps the places."""

    def read_letters(
        self, path: Path, options: ParseOptions, page_numbers: Sequence[int], report_progress: ReportProgress
    ) -> tuple[PageLetters, ...]:
        """The pages that there are."""
        found: list[PageLetters] = []
        with closing(PageImageReader(options)) as reader, frames(path, options) as (pages, _):
            for page_number, frame in enumerate(pages, start=1):
                if page_number > max(page_numbers):
                    break
                if page_number in page_numbers and reader.can_read():
                    gathered = LetterGatherer()
                    gathered.add_words(reader.recognize(grey_image(frame)).words)
                    found.append(gathered.page(page_number))
                    report_progress(len(found), len(page_numbers))
        return tuple(found)
