import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image

from analytiq.errors import CorruptFileError, LimitExceededError
from analytiq.ingestion.ocr.base import GreyImage, RecognizedText
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.image import ENLARGED_SIDE_PIXELS, ImageParser, grey_image
from analytiq.ingestion.parsing.page_images import PageImageReader
from analytiq.models.text import TextSource

NO_DATA = ParseOptions(ocr_data_dir=Path("/nonexistent"))


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def test_image_that_declares_billions_of_pixels_exceeds_a_limit(tmp_path: Path) -> None:
    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    path = tmp_path / "bomb.png"
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    )
    with pytest.raises(LimitExceededError, match="too many pixels"):
        ImageParser().parse(path, NO_DATA, lambda _done, _total: None)


def test_truncated_image_is_a_corrupt_file(tmp_path: Path) -> None:
    path = tmp_path / "cut.png"
    Image.effect_noise((200, 200), 80).save(path)
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(CorruptFileError, match="undamaged copy"):
        ImageParser().parse(path, NO_DATA, lambda _done, _total: None)


def test_every_page_of_a_tiff_is_a_page(tmp_path: Path) -> None:
    path = tmp_path / "pages.tif"
    frames = [Image.new("1", (50, 50), color) for color in (0, 1, 0)]
    frames[0].save(path, save_all=True, append_images=frames[1:])
    document = ImageParser().parse(path, NO_DATA, lambda _done, _total: None)
    assert [(page.page_number, page.source) for page in document.pages] == [
        (number, TextSource.NEEDS_OCR) for number in (1, 2, 3)
    ]
    assert "tesseract-ocr-eng" in document.warnings[0]


def test_animation_is_one_page(tmp_path: Path) -> None:
    path = tmp_path / "moving.gif"
    frames = [Image.new("L", (50, 50), color) for color in (0, 100, 200)]
    frames[0].save(path, save_all=True, append_images=frames[1:])
    assert len(ImageParser().parse(path, NO_DATA, lambda _done, _total: None).pages) == 1


def test_tiff_with_more_pages_than_allowed_exceeds_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "pages.tif"
    frames = [Image.new("1", (10, 10)) for _ in range(3)]
    frames[0].save(path, save_all=True, append_images=frames[1:])
    with pytest.raises(LimitExceededError, match="3 pages; at most 2"):
        ImageParser().parse(path, ParseOptions(max_pages=2), lambda _done, _total: None)


def test_transparent_background_becomes_white() -> None:
    grey = grey_image(Image.new("RGBA", (2000, 10), (0, 0, 0, 0)))
    assert set(grey.pixels) == {255}


def test_sixteen_bit_scan_keeps_its_contrast() -> None:
    scan = Image.new("I;16", (2000, 2), 65_535)
    scan.putpixel((0, 0), 25_600)
    pixels = grey_image(scan).pixels
    assert pixels[0] == 100
    assert pixels[1] == 255


def test_small_picture_is_enlarged_and_a_large_one_is_not() -> None:
    assert grey_image(Image.new("L", (800, 600))).width == ENLARGED_SIDE_PIXELS
    assert grey_image(Image.new("L", (2000, 1000))).width == 2000


def test_camera_picture_is_turned_as_its_exif_says() -> None:
    picture = Image.new("L", (2000, 1000))
    picture.getexif()[0x0112] = 6
    turned = grey_image(picture)
    assert (turned.width, turned.height) == (1000, 2000)


def test_screen_resolution_is_not_believed() -> None:
    picture = Image.new("L", (2000, 1000))
    picture.info["dpi"] = (72, 72)
    assert grey_image(picture).dots_per_inch == 200
    picture.info["dpi"] = (300, 300)
    assert grey_image(picture).dots_per_inch == 300


def test_page_that_was_read_badly_is_named_in_a_warning() -> None:
    class Doubting:
        languages = ("eng",)
        missing_data = None

        def __init__(self, *_: object, **__: object) -> None:
            pass

        def recognize(self, image: GreyImage) -> RecognizedText:
            return RecognizedText("w0rds", 31 if image.width < 1000 else 90)

        def close(self) -> None:
            pass

    reader = PageImageReader(ParseOptions())
    reader._engine = Doubting()  # type: ignore[assignment]  # a fake engine, whose certainty can be told
    for page_number, width in ((1, 2000), (2, 10), (3, 10)):
        reader.read(page_number, GreyImage(b"", width, 10, 200))
    assert reader.warnings() == ("Pages 2-3 are images and were read badly: compare the words with the page.",)
