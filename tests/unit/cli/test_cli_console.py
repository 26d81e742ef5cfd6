"""Output of the console: names, ids and passages as they are."""

import io
import sys
from pathlib import Path

import pytest
from rich.markup import escape

from analytiq.cli.console import fail, make_output_printable, output
from analytiq.cli.main import run
from analytiq.errors import InvalidInputError
from analytiq.standalone.embedded_address import address_of_running_database

PASSAGE = "Mixed 1:100:5; job sync:x:y; [bold]not bold[/]"


def test_passage_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    output.print(escape(PASSAGE))
    assert capsys.readouterr().out == f"{PASSAGE}\n"


def test_error_names_an_id_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    fail(PASSAGE)
    assert capsys.readouterr().err == f"Error: {PASSAGE}\n"


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_what_the_terminal_cannot_show_is_escaped(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    make_output_printable()
    output.print("name \udcff.txt")
    sys.stdout.flush()
    assert written.getvalue() == b"name \\udcff.txt\n"


def test_data_directory_that_is_a_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(InvalidInputError, match="cannot be read"):
        address_of_running_database(file)


@pytest.mark.parametrize(
    ("arguments", "detail"),
    [
        (["settings", "vision"], "Name a change: --model, --figures, --pages or --off."),
        (["settings", "flawed-text"], "Name the kinds to leave out, such as --skip noise, or give --index."),
        (
            ["extract", "6b0cf5b712db8771debc0823", "--flawed-only"],
            "--flawed-only chooses pages for OCR. Give --ocr too.",
        ),
    ],
)
def test_options_that_do_not_fit_end_with_a_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str], detail: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["analytiq", *arguments])
    with pytest.raises(SystemExit) as end:
        run()
    assert (end.value.code, capsys.readouterr().err) == (1, f"Error: {detail}\n")
