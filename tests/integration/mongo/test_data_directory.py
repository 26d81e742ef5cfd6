"""The data directory: one holder at a time, private files, atomic writes."""

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import SecretStr

from analytiq.errors import ConflictError, InvalidInputError, NotFoundError
from analytiq.standalone.data_directory import (
    ConnectionFile,
    DataDirectory,
    read_connection,
    write_private_file,
)

REPOSITORY = Path(__file__).parents[3]

HOLDER = """
import sys
from pathlib import Path
from analytiq.standalone.data_directory import DataDirectory
with DataDirectory.claim(Path(sys.argv[1])) as directory:
    directory.announce("http://127.0.0.1:8000")
    print("held", flush=True)
    sys.stdin.read()
"""


def test_second_claim_says_who_holds_the_directory_and_what_to_do(tmp_path: Path) -> None:
    with DataDirectory.claim(tmp_path / "data") as held:
        held.announce("http://127.0.0.1:8000")
        with pytest.raises(ConflictError, match=rf"process {os.getpid()} .*127\.0\.0\.1:8000.*ANALYTIQ_DATA_DIR"):
            DataDirectory.claim(tmp_path / "data")


def test_released_directory_can_be_claimed_again(tmp_path: Path) -> None:
    DataDirectory.claim(tmp_path / "data").release()
    DataDirectory.claim(tmp_path / "data").release()


def test_claim_of_another_process_is_respected_until_it_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "data")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=REPOSITORY,
        env={"PYTHONPATH": str(REPOSITORY)},
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(ConflictError, match=f"kill {holder.pid}"):
            DataDirectory.claim(tmp_path / "data")
        holder.kill()
        holder.wait()
        DataDirectory.claim(tmp_path / "data").release()


def test_forked_child_does_not_keep_the_claim(tmp_path: Path) -> None:
    claimed = DataDirectory.claim(tmp_path / "data")
    context = multiprocessing.get_context("fork")
    is_running, is_released = context.Event(), context.Event()

    def outlive() -> None:
        is_running.set()
        is_released.wait(60)

    child = context.Process(target=outlive)
    child.start()
    try:
        assert is_running.wait(60)
        claimed._close()  # pyright: ignore[reportPrivateUsage]  # as a kill of this process would
        DataDirectory.claim(tmp_path / "data").release()
    finally:
        is_released.set()
        child.join()


def test_directory_and_files_are_private(tmp_path: Path) -> None:
    with DataDirectory.claim(tmp_path / "data") as directory:
        directory.read_or_create_secret("secret.key")
        directory.write_connection(connection())
        assert directory.path.stat().st_mode & 0o777 == 0o700
        modes = {file.name: file.stat().st_mode & 0o777 for file in directory.path.iterdir()}
    assert modes == {"lock": 0o600, "secret.key": 0o600, "connection.json": 0o600}


def test_directory_that_was_open_to_others_is_closed_to_them(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o755)
    with DataDirectory.claim(tmp_path / "data") as directory:
        assert directory.path.stat().st_mode & 0o777 == 0o700


def test_secret_is_made_once_and_kept(tmp_path: Path) -> None:
    with DataDirectory.claim(tmp_path / "data") as directory:
        first = directory.read_or_create_secret("secret.key", lambda: "first")
    with DataDirectory.claim(tmp_path / "data") as directory:
        second = directory.read_or_create_secret("secret.key", lambda: "second")
    assert first.get_secret_value() == second.get_secret_value() == "first"


def test_secrets_made_by_default_differ(tmp_path: Path) -> None:
    with DataDirectory.claim(tmp_path / "data") as directory:
        made = {directory.read_or_create_secret(name).get_secret_value() for name in ("a", "b")}
    assert len(made) == 2
    assert all(len(secret) >= 43 for secret in made)


def test_connection_is_read_back_whole(tmp_path: Path) -> None:
    with DataDirectory.claim(tmp_path / "data") as directory:
        directory.write_connection(connection())
        assert read_connection(tmp_path / "data") == connection()
        directory.remove_connection()
        directory.remove_connection()


def test_missing_connection_says_how_to_start(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="analytiq up"):
        read_connection(tmp_path)


def test_damaged_connection_is_an_error_that_does_not_quote_it(tmp_path: Path) -> None:
    (tmp_path / "connection.json").write_text('{"token": "hush-hush", "url": 7}')
    with pytest.raises(InvalidInputError, match="damaged") as caught:
        read_connection(tmp_path)
    assert "hush-hush" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_token_is_masked_where_a_connection_is_printed() -> None:
    assert "hush-hush" not in repr(connection())


def test_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    write_private_file(tmp_path / "file", "old")
    with pytest.raises(UnicodeEncodeError):
        write_private_file(tmp_path / "file", "new \ud800")
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "old"


def test_directory_that_cannot_be_made_is_refused_with_the_setting_to_change(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match="ANALYTIQ_DATA_DIR"):
        DataDirectory.claim(tmp_path / "file" / "data")


def test_released_directory_announces_nothing(tmp_path: Path) -> None:
    directory = DataDirectory.claim(tmp_path / "data")
    directory.release()
    with pytest.raises(ConflictError, match="released"):
        directory.announce("http://127.0.0.1:8000")


def connection() -> ConnectionFile:
    return ConnectionFile(url="http://127.0.0.1:8000", organization_id="0" * 24, token=SecretStr("hush-hush"))
