"""Keys of objects as names of documents and as items."""

import pytest

from analytiq.ingestion.documents.naming import validated_path
from analytiq.ingestion.sources.systems.buckets.keys import BucketObject, document_name, folder_of, listed_object


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("contracts/2026/a.pdf", "contracts/2026/a.pdf"),
        ("a//b.txt", "a/b.txt"),
        ("/a.txt", "a.txt"),
        ("a/../../b.txt", "a/_/_/b.txt"),
        ("a/ .. /b.txt", "a/ .. /b.txt"),
        ("..", "_"),
        ("a/ ..", "a/_"),
        ("C:/Users/a.txt", "C_/Users/a.txt"),
        ("a\\..\\b.txt", "a/_/b.txt"),
        ("a\nb\u202egpj.exe", "a_b_gpj.exe"),
        ("folder/", "folder"),
        ("u\u0308.txt", "\u00fc.txt"),
        (f"{'n' * 300}.tar.gz", f"{'n' * 252}.gz"),
        (f"a/{'n' * 300}.{'x' * 30}", f"a/{'n' * 255}"),
    ],
)
def test_each_key_has_a_name_that_documents_may_have(key: str, name: str) -> None:
    assert document_name(key) == name
    assert validated_path(name) == name


@pytest.mark.parametrize("key", ["", "/", "//", "/".join(["n" * 200] * 6)])
def test_key_without_any_usable_name_is_named_by_its_hash(key: str) -> None:
    assert document_name(key).startswith("object-")


def test_names_are_below_the_folder_of_the_prefix() -> None:
    assert [folder_of(prefix) for prefix in ("", "a", "a/", "a/b", "a/b/")] == ["", "", "a/", "a/", "a/b/"]
    item = listed_object(BucketObject(key="a/b/c.txt", byte_size=3, version="1"), "a/")
    assert (item.external_id, item.name) == ("a/b/c.txt", "b/c.txt")
    assert item.fields == {"key": "a/b/c.txt", "path": "b/c.txt", "folder": "b", "file_name": "c.txt", "bytes": 3}


def test_keys_that_identities_cannot_hold_are_skipped_one_by_one() -> None:
    items = [listed_object(BucketObject(key=f"a{sign}.txt", byte_size=3, version="1"), "") for sign in "\x01\x02"]
    assert all(item.skip_reason and item.external_id.isprintable() for item in items)
    assert items[0].external_id != items[1].external_id


def test_only_empty_objects_are_folder_markers() -> None:
    marks = {
        (key, size): BucketObject(key=key, byte_size=size, version="1").is_folder_marker
        for key in ("a/", "a_$folder$", "a")
        for size in (0, 1)
    }
    assert {mark for mark, is_marker in marks.items() if is_marker} == {("a/", 0), ("a_$folder$", 0)}
