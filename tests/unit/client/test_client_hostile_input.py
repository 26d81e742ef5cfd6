"""Ids, texts and addresses that the client is given never lead elsewhere, or to a traceback."""

import os
from pathlib import Path

import httpx
import pytest

from analytiq.client import Client
from analytiq.client.paths import segment
from analytiq.client.upload import CountedFile
from analytiq.errors import InvalidInputError

URL = "http://127.0.0.1:1"
ORGANIZATION = "f" * 24


@pytest.mark.parametrize("value", ["../documents/abc", "a/../../documents", "abc/text", "a?b", "a#b", "a b", "é"])
def test_id_stays_one_segment_of_its_path(value: str) -> None:
    url = httpx.URL(f"{URL}/v0/access-tokens/{segment(value)}")
    assert url.raw_path.startswith(b"/v0/access-tokens/")
    assert url.raw_path.count(b"/") == 3
    assert url.path == f"/v0/access-tokens/{value}"


def test_id_of_a_job_is_readable_in_its_path() -> None:
    assert segment(f"sync:{ORGANIZATION}:{ORGANIZATION}") == f"sync:{ORGANIZATION}:{ORGANIZATION}"


@pytest.mark.parametrize("value", ["", ".", ".."])
def test_id_that_would_vanish_from_its_path_is_refused(value: str) -> None:
    with Client(URL, ORGANIZATION, "token") as client, pytest.raises(InvalidInputError, match="is not an id"):
        client.delete_document(value)


def test_text_that_is_not_utf_8_is_named_before_anything_is_sent() -> None:
    with Client(URL, ORGANIZATION, "token") as client, pytest.raises(InvalidInputError, match=r"udcff"):
        client.search(ORGANIZATION, os.fsdecode(b"what is \xff?"))


def test_name_of_a_file_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff.txt")
    path.write_text("text")
    with Client(URL, ORGANIZATION, "token") as client, pytest.raises(InvalidInputError, match=r"udcff\.txt"):
        client.upload([path])


def test_pipe_that_nobody_writes_to_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInputError, match="is not a regular file"):
        CountedFile(tmp_path / "pipe", None)


@pytest.mark.parametrize("url", ["http://[::1", "http://host:port"])
def test_address_that_is_none_is_named(url: str) -> None:
    with pytest.raises(InvalidInputError, match="not the address of an API"):
        Client(url, ORGANIZATION, "token")


@pytest.mark.parametrize("token", ["aq_é", "aq_a\nb"])
def test_token_that_no_header_can_hold_is_refused_without_being_shown(token: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        Client(URL, ORGANIZATION, token)
    assert token not in str(raised.value)
