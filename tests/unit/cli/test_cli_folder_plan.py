"""Plans of an ingestion of a directory."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import cast

import pytest

from analytiq.cli.files import find_files
from analytiq.cli.folder_plan import Comparison, Hashes, compare
from analytiq.client import Client, DocumentAtPath
from analytiq.errors import ConflictError


class Documents:
    """The two lookups of a client."""

    def __init__(self, documents: Sequence[DocumentAtPath]) -> None:
        self._documents = documents

    def documents_below(self, folder: str) -> Iterator[DocumentAtPath]:
        return (item for item in self._documents if item.document_name.startswith(f"{folder}/"))

    def documents_at(self, paths: Sequence[str]) -> Iterator[DocumentAtPath]:
        return (item for item in self._documents if item.document_name in paths)


def document(name: str, content: str, *, origin: str | None = None, number: int = 1) -> DocumentAtPath:
    return DocumentAtPath(
        document_id=f"{name}:{number}",
        document_name=name,
        origin=origin,
        sha256=hashlib.sha256(content.encode()).hexdigest(),
        byte_size=len(content),
        state="extracted",
        tag_ids=[],
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "c"
    (folder / "x").mkdir(parents=True)
    (folder / "new.txt").write_text("new")
    (folder / "x" / "same.txt").write_text("same")
    (folder / "x" / "changed.txt").write_text("after")
    return folder


def compared(paths: list[Path], *documents: DocumentAtPath, is_named: bool = False) -> Comparison:
    client = cast("Client", Documents(documents))
    return compare(client, find_files(paths), Hashes(), is_named=is_named)


def own(folder: Path) -> str:
    return next(iter(find_files([folder]).present)).origin


def test_only_new_and_changed_files_are_to_be_sent(folder: Path) -> None:
    comparison = compared(
        [folder], document("c/x/same.txt", "same"), document("c/x/changed.txt", "before"), document("new.txt", "new")
    )
    assert [file.document_name for file in comparison.to_send] == ["c/new.txt", "c/x/changed.txt"]
    assert comparison.changed == {folder / "x" / "changed.txt"}
    assert list(comparison.unchanged) == ["c/x/same.txt:1"]


def test_one_of_several_documents_of_a_path_is_enough(folder: Path) -> None:
    comparison = compared(
        [folder], document("c/new.txt", "old"), document("c/new.txt", "new", number=2), document("c/x/same.txt", "same")
    )
    assert list(comparison.unchanged) == ["c/new.txt:2", "c/x/same.txt:1"]


def test_document_vanished_if_it_came_from_here_and_its_file_is_gone(folder: Path) -> None:
    (folder / ".hidden.txt").write_text("now hidden")
    (folder / "film.mp4").write_bytes(b"\0\0\0\x18ftypmp42" + bytes(100))
    origin = own(folder)
    comparison = compared(
        [folder],
        *(document(f"c/{name}", "?", origin=origin) for name in ("gone.txt", "x/gone.txt", ".hidden.txt", "film.mp4")),
        document("c/uploaded-by-hand.txt", "?"),
        document("cc/gone.txt", "?", origin=origin),
    )
    assert [item.document_name for item in comparison.vanished] == ["c/gone.txt", "c/x/gone.txt"]


def test_documents_of_another_directory_of_this_name_are_refused_unless_it_is_named(folder: Path) -> None:
    foreign = document("c/gone.txt", "?", origin="other:/home/bob/c")
    with pytest.raises(ConflictError, match=r"1 documents in 'c' came from 'other:/home/bob/c'.*--as 'c'"):
        compared([folder], foreign)
    assert compared([folder], foreign, is_named=True).vanished == [foreign]


def test_file_that_was_named_by_itself_vanishes_from_nowhere(folder: Path) -> None:
    comparison = compared(
        [folder / "new.txt"], document("new.txt", "new"), document("c/gone.txt", "?", origin=own(folder))
    )
    assert (list(comparison.unchanged), comparison.vanished) == (["new.txt:1"], [])


def test_file_is_read_once_for_each_of_its_states(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashes, file, read = Hashes(), folder / "new.txt", list[str]()

    def counted(blocks: Iterable[bytes]) -> str:
        read.append(hashlib.sha256(b"".join(blocks)).hexdigest())
        return read[-1]

    monkeypatch.setattr("analytiq.cli.folder_plan._sha256", counted)
    first = hashes.of(file)
    assert (hashes.of(file), len(read)) == (first, 1)
    file.write_text("longer than before")
    assert hashes.of(file) != first
    assert len(read) == 2
    assert hashes.of(folder / "missing.txt") is None
