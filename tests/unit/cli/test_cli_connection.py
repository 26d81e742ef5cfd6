from pathlib import Path

import pytest
from pydantic import SecretStr

from analytiq.cli.connection import find_connection
from analytiq.errors import InvalidInputError, NotFoundError
from analytiq.settings import Settings
from analytiq.standalone.data_directory import ConnectionFile, DataDirectory


def kept(directory: Path, url: str) -> ConnectionFile:
    connection = ConnectionFile(url=url, organization_id="f" * 24, token=SecretStr("aq_kept"))
    with DataDirectory.claim(directory) as claimed:
        claimed.write_connection(connection)
    return connection


def test_default_data_directory_is_used_where_nothing_is_named(tmp_path: Path) -> None:
    connection = kept(tmp_path, "http://default")
    assert find_connection(Settings(data_dir=tmp_path), None) == connection


def test_environment_takes_precedence_over_the_default_directory(tmp_path: Path) -> None:
    kept(tmp_path, "http://default")
    settings = Settings(data_dir=tmp_path, url="http://named", organization_id="a", token=SecretStr("aq_named"))
    assert find_connection(settings, None).url == "http://named"


def test_named_data_directory_takes_precedence_over_the_environment(tmp_path: Path) -> None:
    connection = kept(tmp_path / "named", "http://directory")
    settings = Settings(url="http://named", organization_id="a", token=SecretStr("aq_named"))
    assert find_connection(settings, tmp_path / "named") == connection


def test_half_of_a_connection_names_the_other_half(tmp_path: Path) -> None:
    kept(tmp_path, "http://default")
    with pytest.raises(InvalidInputError, match="ANALYTIQ_ORGANIZATION_ID and ANALYTIQ_TOKEN must be set too"):
        find_connection(Settings(data_dir=tmp_path, url="http://named"), None)


def test_missing_connection_says_to_start_the_platform(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="`analytiq up`"):
        find_connection(Settings(data_dir=tmp_path), None)


def test_data_directory_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    (tmp_path / "connection.json").mkdir()
    for wrong in (tmp_path / "file", tmp_path):
        with pytest.raises(InvalidInputError, match="cannot be read"):
            find_connection(Settings(), wrong)
