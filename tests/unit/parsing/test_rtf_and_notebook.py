import json
from collections.abc import Callable
from pathlib import Path

import pytest

from analytiq.errors import CorruptFileError
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.formats import detect_content_type
from analytiq.ingestion.parsing.notebook import MAX_OUTPUT_CHARACTERS, NotebookParser
from analytiq.ingestion.parsing.rtf import RtfParser

Read = Callable[[object], str]


@pytest.fixture
def rich_text(tmp_path: Path) -> Callable[[bytes], str]:
    def read(data: bytes) -> str:
        path = tmp_path / "letter.rtf"
        path.write_bytes(data)
        return RtfParser().parse(path, ParseOptions(), lambda done, total: None).pages[0].text

    return read


@pytest.fixture
def notebook(tmp_path: Path) -> Read:
    def read(content: object) -> str:
        path = tmp_path / "work.ipynb"
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return NotebookParser().parse(path, ParseOptions(), lambda done, total: None).pages[0].text

    return read


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (rb"{\rtf1\ansi Plain \b bold\b0 .\par Next}", "Plain bold.\n\nNext"),
        (rb"{\rtf1\ansi\ansicpg1251 \'cf\'f0\'e8\'e2\'e5\'f2}", "Привет"),
        (rb"{\rtf1\ansi Gr\u246?\u223?e}", "Größe"),
        (rb"{\rtf1\ansi \u-10179?\u-8704?}", "😀"),
        (rb"{\rtf1\ansi\ansicpg99999 still read}", "still read"),
        (b"{\\rtf1\\ansi\\ansicpg1252 M\xfcsli}", "Müsli"),
        (rb"{\rtf1 {\fonttbl{\f0 Arial;}}{\*\generator Word}seen}", "seen"),
        (rb"{\rtf1 {\pict\pngblip 89504e47}after}", "after"),
        (rb"{\rtf1 {\v secret} seen {\deleted gone}\v0\par}", "seen"),
        (rb"{\rtf1\pard\outlinelevel1 Locks\par\pard Words{\footnote A note.}.\par}", "## Locks\n\nWords.\n\nA note."),
        (rb"{\rtf1{\stylesheet{\s3\b heading 1;}}\pard\s3 Gates\par\pard Words}", "# Gates\n\nWords"),
        (rb"{\rtf1{\header Town}\pard{\listtext 2.\tab}Open\par{\listtext\'b7}Shut\par}", "2. Open\n- Shut\n\nTown"),
        (
            rb"{\rtf1\trowd Item\cell Fee\cell\row\trowd Boat\cell 1\cell\row\trowd Barge\cell 2\cell\row}",
            "Item | Fee\nItem: Boat; Fee: 1\nItem: Barge; Fee: 2",
        ),
        (rb"{\rtf1 never closed", "never closed"),
        (rb"{\rtf1 Words{\footnote cut of", "Words\n\ncut of"),
        (rb'{\rtf1 {\field{\*\fldinst{HYPERLINK "https://example.com"}}{\fldrslt the words}}.}', "the words."),
    ],
)
def test_words_of_rich_text_are_read(rich_text: Callable[[bytes], str], source: bytes, text: str) -> None:
    assert rich_text(source) == text


def test_hidden_words_of_rich_text_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "letter.rtf"
    path.write_bytes(rb"{\rtf1 seen {\v two words}}")
    document = RtfParser().parse(path, ParseOptions(), lambda done, total: None)
    assert document.warnings[0].startswith("2 hidden words not read")


@pytest.mark.parametrize(
    ("source", "text", "hidden"),
    [
        (rb"one{\cf1 out} {\fs2 out}{\cf2 two}{\fs1\v out}", "one two", 3),
        (rb"{\cf1\highlight2 on a mark} {\cf1\chcbpat2 on a ground} {\cf1\chcbpat1 out}", "on a mark on a ground", 1),
        (rb"\pard\cbpat2 {\cf1 on a shade}\par\pard {\cf1 out}", "on a shade", 1),
        (rb"\trowd\clcbpat2\cellx900\pard\intbl\cf1 in a cell\cell\row\pard out", "in a cell", 1),
        (rb"\cf1 out\plain one\cf1 {\shp{\*\shpinst{\shptxt in a box\par}}}", "one\n\nin a box", 1),
        (rb"{\*\background{\shp{\*\shpinst{\sp{\sn fillColor}{\sv 9}}}}}\cf1 on a page", "on a page", 0),
    ],
)
def test_unseen_words_of_rich_text_are_out_unless_their_ground_is_painted(
    tmp_path: Path, source: bytes, text: str, hidden: int
) -> None:
    path = tmp_path / "letter.rtf"
    colors = rb"{\colortbl;\red255\green255\blue255;\red10\green20\blue99;}"
    path.write_bytes(rb"{\rtf1\ansi" + colors + b" " + source + b"}")
    document = RtfParser().parse(path, ParseOptions(), lambda done, total: None)
    assert document.pages[0].text == text
    assert [warning.split(" hidden")[0] for warning in document.warnings] == ([str(hidden)] if hidden else [])


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            (
                rb"\trowd\trhdr\clvmgf\cellx900\cellx2900\intbl Model\cell 2024\cell\row"
                rb"\trowd\trhdr\clvmrg\cellx900\cellx1910\cellx2900 \cell Net\cell Gross\cell\row"
                rb"\trowd\clvmgf\cellx900\cellx1900\cellx2900 Basic\cell 1\cell 2\cell\row"
                rb"\trowd\clvmrg\cellx900\cellx1900\cellx2900 \cell 3\cell 4\cell\row"
            ),
            (
                "Model | 2024 Net | 2024 Gross\nModel: Basic; 2024 Net: 1; 2024 Gross: 2\n"
                "Model: Basic; 2024 Net: 3; 2024 Gross: 4"
            ),
        ),
        (
            (
                rb"\trowd\clmgf\cellx900\clmrg\cellx1900\intbl Both\cell\cell\row"
                rb"\trowd\cellx900\cellx1900 a\cell b\cell\row"
            ),
            "Both\n\na | b",
        ),
        (rb"\trowd\cellx900\cellx1900\intbl a\cell b\cell\row\trowd\cellx900 c\cell d\cell\row", "a | b\nc | d"),
        (rb"\trowd\cellx900\intbl {\listtext 7.\tab}Open\cell\row", "7. Open"),
    ],
)
def test_tables_of_rich_text_have_spans_and_header_rows(
    rich_text: Callable[[bytes], str], source: bytes, text: str
) -> None:
    assert rich_text(rb"{\rtf1\ansi " + source + rb"\pard}") == text


def test_asides_of_rich_text_take_nothing_from_the_text_around(rich_text: Callable[[bytes], str]) -> None:
    source = (
        rb"{\rtf1 be{\header\trowd\intbl Town\cell 1\cell\row}fore{\shp{\*\shpinst{\shptxt In\par out}}} after\par end}"
    )
    assert rich_text(source) == "before after\n\nIn\n\nout\n\nend\n\nTown\t1"


def test_notebook_gives_texts_code_and_what_it_printed(notebook: Read) -> None:
    picture = {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo", "text/plain": ["<Figure>"]}}
    cells = [
        {"cell_type": "markdown", "source": ["# Yields\n", "of quinces"]},
        {
            "cell_type": "code",
            "source": "print(6 * 7)",
            "outputs": [{"output_type": "stream", "text": ["42\n"]}, picture],
        },
        {"cell_type": "code", "source": "1/0", "outputs": [{"output_type": "error", "ename": "E", "evalue": "zero"}]},
    ]
    text = notebook({"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4})
    assert text == (
        "# Yields\n\nof quinces\n\n```python\nprint(6 * 7)\n```\n\n```\n42\n\n<Figure>\n```\n\n"
        "```python\n1/0\n```\n\n```\nE: zero\n```"
    )


def test_words_that_no_reader_of_a_cell_took_are_appended_and_counted(tmp_path: Path) -> None:
    outputs = [{"output_type": "error", "ename": "KeyError", "evalue": "depth", "text": ["at lock seven"]}]
    path = tmp_path / "work.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": "depth()", "outputs": outputs}]}))
    document = NotebookParser().parse(path, ParseOptions(), lambda done, total: None)
    assert document.pages[0].text.endswith("KeyError: depth\n```\n\nat lock seven")
    assert document.warnings == ("3 words of cells stand in unusual places; they are at the end of the text",)


def test_printed_table_names_its_values(notebook: Read) -> None:
    frame = "<table><tr><th></th><th>fruit</th></tr><tr><th>0</th><td>quince</td></tr></table>"
    outputs = [{"output_type": "execute_result", "data": {"text/html": frame, "text/plain": "0 quince"}}]
    assert notebook({"cells": [{"cell_type": "code", "source": "", "outputs": outputs}]}) == "fruit\n0; fruit: quince"


def test_notebook_of_the_older_format_is_read(notebook: Read) -> None:
    cell = {"cell_type": "code", "input": ["x = 1"], "outputs": [{"output_type": "pyout", "text": ["1"]}]}
    assert notebook({"worksheets": [{"cells": [cell]}]}) == "```\nx = 1\n```\n\n```\n1\n```"


def test_endless_output_of_a_cell_is_cut(notebook: Read) -> None:
    cell = {"cell_type": "code", "source": "", "outputs": [{"output_type": "stream", "text": "epoch " * 100_000}]}
    assert len(notebook({"cells": [cell]})) < MAX_OUTPUT_CHARACTERS + 20


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "17", '{"cells": 3}', '{"records": []}', "[" * 100_000], ids=lambda text: text[:12]
)
def test_what_is_no_notebook_is_refused(notebook: Read, content: str) -> None:
    with pytest.raises(CorruptFileError):
        notebook(content)


@pytest.mark.parametrize("cells", [[], [1, None, []], [{}], [{"source": {"a": 1}, "outputs": [[], {"data": 3}]}]])
def test_odd_cells_are_passed_over(notebook: Read, cells: list[object]) -> None:
    assert notebook({"cells": cells}) == ""


def test_notebook_is_told_by_its_name_whatever_its_sender_says(tmp_path: Path) -> None:
    path = tmp_path / "work.ipynb"
    path.write_text("{}", encoding="utf-8")
    assert detect_content_type(path, declared="application/json") == "application/x-ipynb+json"


def test_outputs_without_a_plain_form_are_read(notebook: Read) -> None:
    forms = {"text/html": "<p>shown <b>page</b></p>", "text/markdown": "shown note", "text/latex": "x^2"}
    outputs = [{"output_type": "display_data", "data": {form: [text]}} for form, text in forms.items()]
    text = notebook({"cells": [{"cell_type": "code", "source": "x", "outputs": outputs}], "nbformat": 4})
    assert "shown page" in text
    assert "shown note" in text
    assert "x^2" in text


def test_cut_output_is_told(tmp_path: Path) -> None:
    output = {"output_type": "stream", "text": "w " * 20_000}
    path = tmp_path / "long.ipynb"
    cell = {"cell_type": "code", "source": "x", "outputs": [output]}
    path.write_text(json.dumps({"cells": [cell], "nbformat": 4}), encoding="utf-8")
    (warning,) = NotebookParser().parse(path, ParseOptions(), lambda _done, _total: None).warnings
    assert warning.startswith("20000 characters of the outputs of 1 cells not read")
