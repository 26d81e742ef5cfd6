"""Tesseract, through tesserocr, with the language data of Debian's packages.

The wheel carries the library but no language data. Set OMP_THREAD_LIMIT=1 in the environment of the process
before this module is imported (the parsing server does): with two threads Tesseract was slower than with one.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from PIL import Image
from tesserocr import PSM, PyTessBaseAPI

from analytiq.ingestion.ocr.base import GreyImage, RecognizedText
from analytiq.ingestion.ocr.language_data import debian_data_dir
from analytiq.models.boxes import Box, PlacedText

TURNED_PAGE_CONFIDENCE = 50
"""Below this confidence a page is also read at quarter turns: pages on their side scored 32, upright ones 69 up."""

_IDEOGRAPH = "[\u3001-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef]"
"""Han, kana and their punctuation; not Hangul, which uses spaces."""
_BLANK_BETWEEN_IDEOGRAPHS = re.compile(f"(?<={_IDEOGRAPH}) +(?={_IDEOGRAPH})")

WORD_LEVEL = "5"
TABLE_COLUMNS = 12

QUARTER_TURNS = (Image.Transpose.ROTATE_90, Image.Transpose.ROTATE_180, Image.Transpose.ROTATE_270)


def debian_packages(languages: Sequence[str]) -> str:
    """Return the names of the Debian packages with the data of `languages`, joined by spaces."""
    return " ".join(f"tesseract-ocr-{language.replace('_', '-').lower()}" for language in languages)


def join_ideographs(text: str) -> str:
    """Drop the spaces that Tesseract puts between Chinese and Japanese characters, which have none in writing."""
    return _BLANK_BETWEEN_IDEOGRAPHS.sub("", text)


class TesseractEngine:
    """A loaded set of languages; the model is loaded at the first page that needs it."""

    def __init__(self, languages: Sequence[str], *, data_dir: Path | None) -> None:
        self._data_dir = data_dir or debian_data_dir()
        self.languages = tuple(language for language in languages if self._is_installed(language))
        absent = [language for language in languages if language not in self.languages]
        self.missing_data: str | None = None
        if absent:
            self.missing_data = (
                f"No OCR data for {', '.join(absent)} is installed: install the Debian package(s) "
                f"{debian_packages(absent)} on the machine of the worker."
            )
        self._api: PyTessBaseAPI | None = None

    def _is_installed(self, language: str) -> bool:
        # A name with a slash would leave the directory; Tesseract's own script/ models are not offered.
        if self._data_dir is None or not language.replace("_", "").isalnum():
            return False
        return (self._data_dir / f"{language}.traineddata").is_file()

    def _loaded(self) -> PyTessBaseAPI:
        if self._api is None:
            self._api = PyTessBaseAPI(path=str(self._data_dir), lang="+".join(self.languages), psm=PSM.AUTO)
        return self._api

    def recognize(self, image: GreyImage, *, with_words: bool = False) -> RecognizedText:
        """Read a page; if its confidence is low, also at the other quarter turns, and keep the best."""
        best = self._read(image, with_words=with_words)
        if best.confidence >= TURNED_PAGE_CONFIDENCE:
            return best
        upright = Image.frombytes("L", (image.width, image.height), image.pixels)
        for turn in QUARTER_TURNS:
            turned = upright.transpose(turn)
            sideways = GreyImage(turned.tobytes(), turned.width, turned.height, image.dots_per_inch)
            reading = self._read(sideways, with_words=with_words)
            # A blank page scores 0 or 95 by chance at any turn: only a reading with letters may win.
            if reading.confidence > best.confidence and any(map(str.isalnum, reading.text)):
                best = replace(reading, words=tuple(_turned_back(word, turn) for word in reading.words))
        return best

    def _read(self, image: GreyImage, *, with_words: bool) -> RecognizedText:
        api = self._loaded()
        api.SetImageBytes(
            cast("str", image.pixels),  # the stub says str, the code takes bytes
            image.width,
            image.height,
            bytes_per_pixel=1,
            bytes_per_line=image.width,
        )
        api.SetSourceResolution(image.dots_per_inch)
        text = join_ideographs(api.GetUTF8Text().strip())
        words = tuple(_words_of(api.GetTSVText(0), image)) if with_words else ()
        return RecognizedText(text, api.MeanTextConf(), words)

    def close(self) -> None:
        """Free the model (about 100 MB with one language)."""
        if self._api is not None:
            self._api.End()
            self._api = None


def _words_of(table: str, image: GreyImage) -> Iterator[PlacedText]:
    """Yield the words of Tesseract's table: rows of level 5, with left, top, width and height in pixels."""
    for row in table.splitlines():
        cells = row.split("\t")
        if len(cells) != TABLE_COLUMNS or cells[0] != WORD_LEVEL or not cells[-1].strip():
            continue
        left, top, width, height = (int(cell) for cell in cells[6:10])
        box = Box(left / image.width, top / image.height, (left + width) / image.width, (top + height) / image.height)
        yield PlacedText(cells[-1].strip(), box)


def _turned_back(word: PlacedText, turn: Image.Transpose) -> PlacedText:
    """Return a word's box on the page before its rotation (Pillow rotates counterclockwise)."""
    box = word.box
    match turn:
        case Image.Transpose.ROTATE_90:
            upright = Box(1 - box.bottom, box.left, 1 - box.top, box.right)
        case Image.Transpose.ROTATE_180:
            upright = Box(1 - box.right, 1 - box.bottom, 1 - box.left, 1 - box.top)
        case _:
            upright = Box(box.top, 1 - box.right, box.bottom, 1 - box.left)
    return PlacedText(word.text, upright)
