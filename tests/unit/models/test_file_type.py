"""Types of files: each content type that a parser reads is of one that people know."""

from analytiq.ingestion.parsing.registry import default_registry
from analytiq.models.file_type import CONTENT_TYPES, FAMILIES, FileType, file_type_of


def test_everything_that_can_be_read_has_a_type_that_is_not_other() -> None:
    unnamed = {name for name in default_registry().content_types if file_type_of(name) is FileType.OTHER}
    assert unnamed == set()


def test_each_content_type_is_named_once_and_each_type_has_some() -> None:
    names = [name for of_one in CONTENT_TYPES.values() for name in of_one]
    assert len(names) == len(set(names))
    assert set(FileType) == {*CONTENT_TYPES, *FAMILIES, FileType.OTHER}


def test_what_is_not_named_is_of_its_family_or_other() -> None:
    told = {
        name: file_type_of(name) for name in ("text/x-python", "text/csv", "text/html", "image/heic", "video/mp4", "")
    }
    assert told == {
        "text/x-python": FileType.TEXT,
        "text/csv": FileType.SPREADSHEET,
        "text/html": FileType.WEB,
        "image/heic": FileType.IMAGE,
        "video/mp4": FileType.OTHER,
        "": FileType.OTHER,
    }
