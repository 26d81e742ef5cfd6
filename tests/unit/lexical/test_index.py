"""An index on disk: what is committed is there, what is damaged is told, what is taken back is gone."""

from pathlib import Path

import pytest

from analytiq.errors import TransientError
from analytiq.retrieval.backends.local.keywords.index import DamagedIndexError, WordIndex
from tests.unit.lexical.words import STATE, chunk, found


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """An index of three documents, as a process has left it."""
    index = WordIndex.created(tmp_path)
    index.add([chunk(name, f"whales of {name}") for name in ("Ann", "Ben", "Cid")], {})
    index.commit(STATE)
    index.rest()
    return tmp_path


def test_reopened_index_has_what_was_committed_and_says_of_what_it_is(directory: Path) -> None:
    index = WordIndex.opened(directory)
    assert index.state == STATE
    assert found(index.view(), "whales") == ["Ann", "Ben", "Cid"]


def test_view_stays_as_it_is_while_the_index_changes(directory: Path) -> None:
    index = WordIndex.opened(directory)
    before = index.view()
    index.remove(["generation of Ann"])
    index.add([chunk("Dan", "whales of Dan")], {})
    assert found(index.view(), "whales") == ["Ann", "Ben", "Cid"]
    index.commit(STATE)
    index.rest()
    assert found(index.view(), "whales") == ["Ben", "Cid", "Dan"]
    assert found(before, "whales") == ["Ann", "Ben", "Cid"]


def test_discarded_change_is_not_in_the_next_commit(directory: Path) -> None:
    index = WordIndex.opened(directory)
    index.remove(["generation of Ann"])
    index.add([chunk("Dan", "whales of Dan")], {})
    index.discard()
    index.add([chunk("Eve", "whales of Eve")], {})
    index.commit(STATE)
    assert found(index.view(), "whales") == ["Ann", "Ben", "Cid", "Eve"]


def test_abandoned_index_can_be_opened_at_once(directory: Path) -> None:
    index = WordIndex.opened(directory)
    index.add([chunk("Dan", "whales of Dan")], {})
    index.abandon()
    another = WordIndex.opened(directory)
    another.add([chunk("Eve", "whales of Eve")], {})
    another.commit(STATE)
    assert found(another.view(), "whales") == ["Ann", "Ben", "Cid", "Eve"]


def test_index_that_nobody_committed_to_is_of_nothing(tmp_path: Path) -> None:
    WordIndex.created(tmp_path).add([chunk("Ann", "whales")], {})
    assert WordIndex.opened(tmp_path).state is None


def test_every_damaged_file_is_told(directory: Path) -> None:
    for path in sorted(directory.iterdir()):
        content = path.read_bytes()
        if not content or path.name == ".managed.json":  # a list of files to clean up, which no search reads
            continue
        middle = len(content) // 3
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :])
        with pytest.raises(DamagedIndexError):
            assert WordIndex.opened(directory).state == STATE, path.name
        path.write_bytes(content[:middle])
        with pytest.raises(DamagedIndexError):
            assert WordIndex.opened(directory).state == STATE, path.name
        path.write_bytes(content)
    assert WordIndex.opened(directory).state == STATE


def test_missing_file_is_told(directory: Path) -> None:
    next(directory.glob("*.term")).unlink()
    with pytest.raises(TransientError):
        found(WordIndex.opened(directory).view(), "whales")
