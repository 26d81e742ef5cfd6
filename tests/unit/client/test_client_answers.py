"""The client's errors about files that change under it, and servers that are not ours."""

from pathlib import Path

import httpx
import pytest

from analytiq.client.errors import UnreachableError, require_own_answer
from analytiq.client.upload import CountedFile
from analytiq.errors import InvalidInputError


def test_device_is_not_uploaded() -> None:
    with pytest.raises(InvalidInputError, match="'/dev/zero' is not a regular file"):
        CountedFile(Path("/dev/zero"), None)


def test_file_that_grows_while_it_is_sent_is_sent_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "growing.log"
    path.write_bytes(b"one line\n")
    with CountedFile(path, None) as file:
        with path.open("ab") as writer:
            writer.write(b"another line\n")
        assert file.read(4) + file.read(4096) + file.read() == b"one line\n"


def test_file_that_shrinks_while_it_is_sent_says_to_upload_it_again(tmp_path: Path) -> None:
    path = tmp_path / "shrinking.log"
    path.write_bytes(b"one line\nanother line\n")
    with CountedFile(path, None) as file:
        path.write_bytes(b"one line\n")
        assert file.read(9) == b"one line\n"
        with pytest.raises(InvalidInputError, match="has become shorter"):
            file.read(4096)


@pytest.mark.parametrize("content_type", ["text/html; charset=utf-8", "TEXT/PLAIN"])
def test_page_of_another_server_is_not_taken_for_an_answer(content_type: str) -> None:
    request = httpx.Request("GET", "http://portal.example/v0/orgs/x")
    page = httpx.Response(200, headers={"Content-Type": content_type}, text="Welcome", request=request)
    with pytest.raises(UnreachableError, match="something else than Analytiq's API"):
        require_own_answer(page)


def test_address_without_its_scheme_says_how_one_begins() -> None:
    error = UnreachableError.of(httpx.UnsupportedProtocol("missing"), "analytiq.example")
    assert "begins with http:// or https://" in error.detail
