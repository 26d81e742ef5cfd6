"""The files of a data directory while its secret key is changed."""

from pathlib import Path

import pytest

from analytiq.inference.credentials.encryption import Vault
from analytiq.standalone import secret_keys
from analytiq.standalone.data_directory import write_private_file
from analytiq.standalone.key_files import OLD_KEYS_FILE, SECRET_KEY_FILE, old_keys_of
from analytiq.standalone.secret_keys import replace_key_of


def key(directory: Path) -> str:
    return (directory / SECRET_KEY_FILE).read_text().strip()


def old_keys(directory: Path) -> list[str]:
    return [item.get_secret_value() for item in old_keys_of(directory)]


def test_directory_without_a_key_gets_one_and_has_nothing_to_keep(tmp_path: Path) -> None:
    replace_key_of(tmp_path / "data")
    assert key(tmp_path / "data")
    assert old_keys(tmp_path / "data") == []


def test_key_that_is_replaced_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    replace_key_of(tmp_path)
    first = key(tmp_path)
    replace_key_of(tmp_path)
    assert key(tmp_path) != first
    assert old_keys(tmp_path) == [first]
    for name in (SECRET_KEY_FILE, OLD_KEYS_FILE):
        assert (tmp_path / name).stat().st_mode & 0o077 == 0


def test_key_replaced_again_before_the_platform_was_started_keeps_both(tmp_path: Path) -> None:
    keys: list[str] = []
    for _ in range(3):
        replace_key_of(tmp_path)
        keys.append(key(tmp_path))
    assert old_keys(tmp_path) == keys[:2]
    Vault(old_keys_of(tmp_path)[0], old_keys_of(tmp_path))


def test_crash_between_the_two_files_loses_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_key_of(tmp_path)
    first = key(tmp_path)

    def die(target: Path, content: str) -> None:
        if target.name == SECRET_KEY_FILE:
            raise OSError("the disk is full")
        write_private_file(target, content)

    monkeypatch.setattr(secret_keys, "write_private_file", die)
    with pytest.raises(OSError, match="full"):
        replace_key_of(tmp_path)
    assert key(tmp_path) == first
    assert old_keys(tmp_path) == [first]
    monkeypatch.undo()
    replace_key_of(tmp_path)
    assert old_keys(tmp_path) == [first]
