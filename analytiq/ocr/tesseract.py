"""Tesseract, through tesserocr, with the language data of Debian's packages.

The wheel carries the library but no language data. Set OMP_THREAD_LIMIT=1 in the environment of the process
before this module is imported (the parsing server does): with two threads Tesseract was slower than with one.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, cast

from PIL import Image
from tesserocr import (
    PSM,
    RIL,
    PyTessBaseAPI,
    iterate_level,  # pyright: ignore[reportUnknownVariableType] -- its stub does not say what it yields
)

from analytiq.ocr.base import GreyImage, RecognizedText, RecognizedWord

DEBIAN_DATA_ROOT = Path("/usr/share/tesseract-ocr")
"""Debian puts the data of Tesseract 5 into `5/tessdata` below it."""

TURNED_PAGE_CONFIDENCE = 50
"""Below it a page is read at quarter turns too: pages lying on their side scored 32, upright ones 69 up."""

_IDEOGRAPH = "[\u3001-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef]"
"""Han, kana and their punctuation; not Hangul, which is written with blanks."""
_BLANK_BETWEEN_IDEOGRAPHS = re.compile(f"(?<={_IDEOGRAPH}) +(?={_IDEOGRAPH})")

QUARTER_TURNS = (Image.Transpose.ROTATE_90, Image.Transpose.ROTATE_180, Image.Transpose.ROTATE_270)


def debian_data_dir() -> Path | None:
    """The newest data directory that Debian's packages have filled, or None."""
    found = sorted(DEBIAN_DATA_ROOT.glob("*/tessdata"))
    return found[-1] if found else None


def debian_packages(languages: Sequence[str]) -> str:
    """The names of the Debian packages that carry the data of `languages`, joined by spaces."""
    return " ".join(f"tesseract-ocr-{language.replace('_', '-').lower()}" for language in languages)


def join_ideographs(text: str) -> str:
    """Drop the blanks that Tesseract puts between Chinese and Japanese characters, where no writer has any."""
    return _BLANK_BETWEEN_IDEOGRAPHS.sub("", text)


class TesseractEngine:
    """One loaded set of languages; the model is loaded at the first page that needs it."""

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

    def recognize(self, image: GreyImage) -> RecognizedText:
        """Read a page; one that scores badly is read at the other quarter turns too, the best counts."""
        best = self._read(image)
        if best.confidence >= TURNED_PAGE_CONFIDENCE:
            return best
        upright = Image.frombytes("L", (image.width, image.height), image.pixels)
        for turn in QUARTER_TURNS:
            turned = upright.transpose(turn)
            reading = self._read(GreyImage(turned.tobytes(), turned.width, turned.height, image.dots_per_inch))
            # A blank page scores 0 or 95 by chance at any turn: only a reading with letters may win.
            if reading.confidence > best.confidence and any(map(str.isalnum, reading.text)):
                best = replace(reading, words=tuple(_turned_back(word, turn) for word in reading.words))
        return best

    def _read(self, image: GreyImage) -> RecognizedText:
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
        return RecognizedText(text, api.MeanTextConf(), tuple(_words(api, image)) if text else ())

    def close(self) -> None:
        """Free the model (about 100 MB with one language)."""
        if self._api is not None:
            self._api.End()
            self._api = None


class _WordIterator(Protocol):
    def BoundingBox(self, level: int) -> tuple[int, int, int, int] | None: ...  # noqa: N802 -- tesserocr's name

    def GetUTF8Text(self, level: int) -> str: ...  # noqa: N802 -- tesserocr's name


def _words(api: PyTessBaseAPI, image: GreyImage) -> Iterator[RecognizedWord]:
    for item in cast("Iterator[_WordIterator]", iterate_level(api.GetIterator(), RIL.WORD)):
        box = item.BoundingBox(RIL.WORD)
        if box is not None:
            left, top, right, bottom = box
            yield RecognizedWord(
                item.GetUTF8Text(RIL.WORD),
                left / image.width,
                top / image.height,
                right / image.width,
                bottom / image.height,
            )


def _turned_back(word: RecognizedWord, turn: Image.Transpose) -> RecognizedWord:
    """A word of an image that was turned, on the image as it was; Pillow turns against the clock."""
    if turn is Image.Transpose.ROTATE_90:
        return replace(word, left=1 - word.bottom, top=word.left, right=1 - word.top, bottom=word.right)
    if turn is Image.Transpose.ROTATE_180:
        return replace(word, left=1 - word.right, top=1 - word.bottom, right=1 - word.left, bottom=1 - word.top)
    return replace(word, left=word.top, top=1 - word.right, right=word.bottom, bottom=1 - word.left)
