from pathlib import Path

import pytest

from analytiq.cli.files import files_below
from analytiq.errors import InvalidInputError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.txt", "a.txt", ".hidden", "deep/er/c.txt", ".git/config", "deep/.d.txt"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    return tmp_path


def test_directory_is_searched_to_the_bottom_without_hidden_files(folder: Path) -> None:
    found = files_below([folder])
    assert [str(file.relative_to(folder)) for file in found] == ["a.txt", "b.txt", "deep/er/c.txt"]


def test_hidden_file_that_is_named_is_taken(folder: Path) -> None:
    assert files_below([folder / ".hidden"]) == [folder / ".hidden"]


def test_hidden_directory_that_is_named_is_searched(folder: Path) -> None:
    assert files_below([folder / ".git"]) == [folder / ".git" / "config"]


def test_file_that_is_named_twice_is_taken_once(folder: Path) -> None:
    (folder / "link.txt").symlink_to(folder / "a.txt")
    assert len(files_below([folder / "a.txt", folder, folder / "deep"])) == 3


def test_link_to_a_directory_above_makes_no_circle(folder: Path) -> None:
    (folder / "deep" / "up").symlink_to(folder)
    assert len(files_below([folder])) == 3


def test_broken_link_is_left_out(folder: Path) -> None:
    (folder / "gone.txt").symlink_to(folder / "nowhere")
    assert len(files_below([folder])) == 3


def test_path_that_does_not_exist_is_named(folder: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"missing' does not exist"):
        files_below([folder, folder / "missing"])


def test_directory_without_files_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="There is no file"):
        files_below([tmp_path])
