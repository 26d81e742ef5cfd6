from pathlib import Path

import pytest
from PIL import Image

from analytiq.errors import InvalidInputError
from analytiq.ingestion.ocr.base import GreyImage
from analytiq.ingestion.ocr.registry import load_engine
from analytiq.ingestion.ocr.tesseract import TesseractEngine, debian_packages, join_ideographs
from analytiq.ingestion.parsing.image import grey_image

SAMPLE = Path(__file__).parents[2] / "data" / "documents" / "image" / "layout-parser-paper-fast.jpg"


@pytest.fixture
def page() -> GreyImage:
    with Image.open(SAMPLE) as picture:
        return grey_image(picture)


def turned(page: GreyImage, turn: Image.Transpose) -> GreyImage:
    picture = Image.frombytes("L", (page.width, page.height), page.pixels).transpose(turn)
    return GreyImage(picture.tobytes(), picture.width, picture.height, page.dots_per_inch)


def test_missing_data_names_the_debian_packages(tmp_path: Path) -> None:
    engine = TesseractEngine(["eng", "chi_sim"], data_dir=tmp_path)
    assert engine.languages == ()
    assert engine.missing_data is not None
    assert "tesseract-ocr-eng tesseract-ocr-chi-sim" in engine.missing_data


def test_languages_with_data_are_used_and_the_others_reported(tmp_path: Path) -> None:
    (tmp_path / "fra.traineddata").touch()
    engine = TesseractEngine(["eng", "fra"], data_dir=tmp_path)
    assert engine.languages == ("fra",)
    assert engine.missing_data is not None
    assert "tesseract-ocr-eng" in engine.missing_data
    assert "tesseract-ocr-fra" not in engine.missing_data


def test_language_that_is_a_path_is_never_looked_up(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "outside.traineddata").touch()
    assert TesseractEngine(["../outside"], data_dir=tmp_path / "data").languages == ()


def test_package_names_follow_debians_spelling() -> None:
    assert debian_packages(["chi_sim_vert"]) == "tesseract-ocr-chi-sim-vert"


def test_blanks_between_ideographs_go_and_those_between_words_stay() -> None:
    assert join_ideographs("元 来 日 本 語 は 漢文 に") == "元来日本語は漢文に"
    assert join_ideographs("Python 3 で 書 く\n한국어 문장") == "Python 3 で書く\n한국어 문장"


def test_unknown_engine_lists_the_known_ones() -> None:
    with pytest.raises(InvalidInputError, match=r"'crystal-ball'.*tesseract"):
        load_engine("crystal-ball")


def test_built_in_engine_is_loaded_by_name() -> None:
    assert load_engine("tesseract") is TesseractEngine


@pytest.mark.ocr
def test_upright_page_is_read_with_confidence(page: GreyImage) -> None:
    engine = TesseractEngine(["eng"], data_dir=None)
    reading = engine.recognize(page)
    engine.close()
    assert "A Unified Toolkit for Deep" in reading.text
    assert reading.confidence > 80


@pytest.mark.ocr
@pytest.mark.parametrize("turn", [Image.Transpose.ROTATE_90, Image.Transpose.ROTATE_180, Image.Transpose.ROTATE_270])
def test_page_on_its_side_or_head_is_turned_and_read(page: GreyImage, turn: Image.Transpose) -> None:
    engine = TesseractEngine(["eng"], data_dir=None)
    reading = engine.recognize(turned(page, turn))
    engine.close()
    assert "A Unified Toolkit for Deep" in reading.text


@pytest.mark.ocr
def test_blank_page_has_no_text() -> None:
    engine = TesseractEngine(["eng"], data_dir=None)
    reading = engine.recognize(GreyImage(b"\xff" * (400 * 400), 400, 400, 200))
    engine.close()
    assert reading.text == ""
