"""The files that a command means, their names, and what it leaves out."""

from pathlib import Path

import pytest

from analytiq.cli.files import Choice, Found, find_files
from analytiq.errors import InvalidInputError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "contracts"
    for name in ("b.txt", "a.txt", ".hidden", "deep/er/c.txt", ".git/config", "deep/.d.txt"):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    return folder


def names(found: Found) -> list[str]:
    return [file.document_name for file in found.files]


def skipped(found: Found) -> dict[str, str]:
    return {item.path.name: item.reason for item in found.skipped}


def test_files_of_a_directory_are_named_by_their_paths_from_its_own_name_on(folder: Path) -> None:
    assert names(find_files([folder])) == ["contracts/a.txt", "contracts/b.txt", "contracts/deep/er/c.txt"]


def test_directory_is_named_whatever_way_it_is_given(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert names(find_files([Path()]))[0] == "contracts/a.txt"
    monkeypatch.chdir(folder / "deep")
    assert names(find_files([Path("..")]))[0] == "contracts/a.txt"


def test_directory_takes_another_name(folder: Path) -> None:
    assert names(find_files([folder], folder="archive/2024/"))[0] == "archive/2024/a.txt"
    with pytest.raises(InvalidInputError):
        find_files([folder], folder="../etc")


def test_two_directories_of_one_name_are_refused(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "contracts"
    other.mkdir(parents=True)
    (other / "a.txt").write_text("another")
    with pytest.raises(InvalidInputError, match="--as"):
        find_files([folder, other])


def test_decomposed_name_is_composed(tmp_path: Path) -> None:
    (tmp_path / "Vertra\u0308ge").mkdir()
    (tmp_path / "Vertra\u0308ge" / "a.txt").write_text("text")
    assert names(find_files([tmp_path / "Vertra\u0308ge"])) == ["Vertr\u00e4ge/a.txt"]


def test_file_that_is_named_has_no_folder_and_may_be_hidden(folder: Path) -> None:
    assert names(find_files([folder / ".hidden"])) == [".hidden"]


def test_hidden_directory_that_is_named_is_searched(folder: Path) -> None:
    assert names(find_files([folder / ".git"])) == [".git/config"]


def test_file_that_is_named_twice_is_taken_once(folder: Path) -> None:
    (folder / "link.txt").symlink_to(folder / "a.txt")
    found = find_files([folder / "a.txt", folder, folder / "deep"])
    assert len(found.files) == 3
    # Of the directory it is a file all the same: its document has not vanished.
    assert "contracts/a.txt" in next(iter(found.present.values()))


def test_links_out_of_the_directory_are_not_followed_and_told(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "secret.txt"
    outside.write_text("secret")
    (folder / "file.txt").symlink_to(outside)
    (folder / "deep" / "up").symlink_to(tmp_path)
    (folder / "sideways.txt").symlink_to(folder / ".hidden")
    found = find_files([folder])
    assert skipped(found) == {
        "file.txt": "a link that leads out of the directory",
        "up": "a link to a directory, which is not followed",
    }
    assert "contracts/sideways.txt" in names(found)


def test_broken_link_is_left_out(folder: Path) -> None:
    (folder / "gone.txt").symlink_to(folder / "nowhere")
    assert len(find_files([folder]).files) == 3


def test_kinds_that_nobody_reads_are_skipped_with_the_reason_unless_they_are_included(folder: Path) -> None:
    (folder / "film.mp4").write_bytes(b"\0\0\0\x18ftypmp42" + bytes(100))
    (folder / "empty.txt").touch()
    (folder / "Thumbs.db").write_bytes(b"x")
    (folder / "~$a.docx").write_bytes(b"x")
    reasons = skipped(find_files([folder]))
    assert set(reasons) == {"film.mp4", "empty.txt", "Thumbs.db", "~$a.docx"}
    assert "cannot be read" in reasons["film.mp4"]
    assert names(find_files([folder], Choice(includes=("*.mp4",)))) == ["contracts/film.mp4"]
    assert names(find_files([folder / "film.mp4"])) == ["film.mp4"]


@pytest.mark.parametrize(
    ("choice", "taken"),
    [
        (Choice(includes=("b*",)), ["b.txt"]),
        (Choice(includes=("deep/*",)), ["deep/er/c.txt"]),
        (Choice(excludes=("deep",)), ["a.txt", "b.txt"]),
        (Choice(excludes=("deep/er",)), ["a.txt", "b.txt"]),
        (Choice(includes=("*.txt",), excludes=("a*", "er")), ["b.txt"]),
    ],
)
def test_files_are_chosen_by_patterns_over_names_and_paths(folder: Path, choice: Choice, taken: list[str]) -> None:
    found = find_files([folder], choice)
    assert names(found) == [f"contracts/{name}" for name in taken]
    assert len(found.skipped) == 3 - len(taken)
    assert len(next(iter(found.present.values()))) == 3


def test_path_that_does_not_exist_is_named(folder: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"missing' does not exist"):
        find_files([folder, folder / "missing"])


def test_directory_without_files_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="There is no file"):
        find_files([tmp_path])
