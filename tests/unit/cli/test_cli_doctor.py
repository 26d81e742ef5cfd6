from pathlib import Path

import pytest

from analytiq.cli.doctor import (
    Verdict,
    check_data_directory,
    check_free_space,
    check_ocr,
    check_parsers,
    check_python,
)
from analytiq.ingestion.parsing.registry import ParserEntry, ParserRegistry, default_registry


@pytest.mark.parametrize(
    ("version", "verdict"), [((3, 10), Verdict.BAD), ((3, 11), Verdict.GOOD), ((4, 0), Verdict.GOOD)]
)
def test_python_before_3_11_is_too_old(version: tuple[int, int], verdict: Verdict) -> None:
    assert check_python(version).verdict is verdict


def test_data_directory_that_is_not_there_yet_is_well(tmp_path: Path) -> None:
    finding = check_data_directory(tmp_path / "one" / "two")
    assert finding.verdict is Verdict.GOOD
    assert finding.detail.endswith("will be made")


def test_data_directory_that_others_may_read_is_named_with_its_remedy(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    directory.mkdir(mode=0o700)
    assert check_data_directory(directory).verdict is Verdict.GOOD
    directory.chmod(0o755)
    finding = check_data_directory(directory)
    assert finding.verdict is Verdict.BAD
    assert finding.remedy == f"chmod 700 {directory}"


def test_data_directory_below_a_file_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert check_data_directory(tmp_path / "file" / "data").verdict is Verdict.BAD


def test_free_space_is_measured_where_the_directory_will_be(tmp_path: Path) -> None:
    assert "are free" in check_free_space(tmp_path / "not" / "there").detail


def test_every_parser_of_a_whole_installation_can_be_imported() -> None:
    finding = check_parsers(default_registry())
    assert finding.verdict is Verdict.GOOD
    assert f"all {len(default_registry().references)}" in finding.detail


def test_parser_that_cannot_be_imported_is_a_problem_with_its_name_and_cause() -> None:
    broken = ParserEntry("no_such_module:Parser", ("application/x-broken",), (".broken",))
    finding = check_parsers(ParserRegistry([broken], problems=["The parser 'other' cannot be imported."]))
    assert finding.verdict is Verdict.BAD
    assert "no_such_module:Parser" in finding.detail
    assert "No module named 'no_such_module'" in finding.detail
    assert "'other'" in finding.detail


def test_missing_ocr_data_is_a_note_that_names_the_package() -> None:
    finding = check_ocr(("zzz",))
    assert finding.verdict is Verdict.NOTE
    assert "tesseract-ocr-zzz" in (finding.remedy or "")
