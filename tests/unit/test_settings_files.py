"""Secrets from files, and settings that cannot be used."""

import os
from pathlib import Path

import pytest

from analytiq.settings import MAX_SECRET_CHARACTERS, SettingsError, read_settings, secret_variables


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the environment back as it was: reading settings changes it."""
    monkeypatch.setattr(os, "environ", os.environ.copy())
    for variable in secret_variables():
        os.environ.pop(variable, None)
        os.environ.pop(f"{variable}_FILE", None)


def test_secrets_are_read_from_the_files_that_the_environment_names(tmp_path: Path) -> None:
    for variable, text in (("ANALYTIQ_SECRET_KEY", "the key\n"), ("MONGODB_URI", "mongodb://db.example/\n")):
        (tmp_path / variable).write_text(text)
        os.environ[f"{variable}_FILE"] = str(tmp_path / variable)
    (tmp_path / "openai").write_text("sk-1")
    os.environ["OPENAI_API_KEY_FILE"] = str(tmp_path / "openai")
    settings = read_settings()
    assert settings.secret_key is not None
    assert settings.secret_key.get_secret_value() == "the key"
    assert settings.mongo.uri is not None
    assert settings.mongo.uri.get_secret_value() == "mongodb://db.example/"
    assert os.environ["OPENAI_API_KEY"] == "sk-1"


def test_nested_secrets_may_be_files_too() -> None:
    assert {
        "ANALYTIQ_ACCOUNTS__OIDC__CLIENT_SECRET",
        "ANALYTIQ_ACCOUNTS__SMTP__PASSWORD",
        "ANALYTIQ_OLD_SECRET_KEYS",
        "COHERE_API_KEY",
    } <= secret_variables()
    assert "ANALYTIQ_API__PORT" not in secret_variables()


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "No such file"), (b"", "is empty"), (b" \n", "is empty"), (b"\xff\xfe", "not UTF-8"),
     (b"x" * (MAX_SECRET_CHARACTERS + 1), "more than")],
)  # fmt: skip
def test_file_that_holds_no_secret_is_an_error_that_names_it(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    file = tmp_path / "key"
    if content is not None:
        file.write_bytes(content)
    os.environ["ANALYTIQ_SECRET_KEY_FILE"] = str(file)
    with pytest.raises(SettingsError, match=reason) as refused:
        read_settings()
    assert str(file) in str(refused.value)
    assert "ANALYTIQ_SECRET_KEY_FILE" in str(refused.value)


def test_variable_and_file_together_are_refused(tmp_path: Path) -> None:
    os.environ["ANALYTIQ_SECRET_KEY"] = "one"
    os.environ["ANALYTIQ_SECRET_KEY_FILE"] = str(tmp_path / "other")
    with pytest.raises(SettingsError, match="Keep one of them"):
        read_settings()


def test_wrong_value_is_named_and_not_shown() -> None:
    os.environ["ANALYTIQ_API__PORT"] = "hunter2"
    with pytest.raises(SettingsError, match="ANALYTIQ_API__PORT") as refused:
        read_settings()
    assert "hunter2" not in str(refused.value)


def test_empty_variable_counts_as_not_set() -> None:
    os.environ["ANALYTIQ_API__PUBLIC_URL"] = ""
    os.environ["ANALYTIQ_API__PORT"] = ""
    settings = read_settings()
    assert settings.api.public_url is None
    assert settings.api.port == 8000
