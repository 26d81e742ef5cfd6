"""A misspelt setting ends the start instead of being ignored."""

import pytest

from analytiq.settings import SettingsError, provider_keys_from_environment, read_settings


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("ANALYTIQ_EMBEDING__DEFAULT_MODEL", "ANALYTIQ_EMBEDDING__DEFAULT_MODEL"),
        ("ANALYTIQ_LMM__DEFAULT_MODEL", "ANALYTIQ_LLM__DEFAULT_MODEL"),
        ("ANALYTIQ_DATADIR", "ANALYTIQ_DATA_DIR"),
        ("ANALYTIQ_MONGO_URI", "ANALYTIQ_MONGO__URI"),
        ("ANALYTIQ_LOG_LEVEL_FILE", "ANALYTIQ_LOG_LEVEL"),
    ],
)
def test_unknown_setting_at_the_top_is_an_error_that_names_the_one_that_is_meant(
    monkeypatch: pytest.MonkeyPatch, variable: str, meant: str
) -> None:
    monkeypatch.setenv(variable, "a-value-that-is-not-told")
    with pytest.raises(SettingsError) as caught:
        read_settings()
    assert variable in str(caught.value)
    assert f"Is {meant}" in str(caught.value)
    assert "a-value" not in str(caught.value)


def test_variables_of_the_makefile_and_of_tests_are_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("ANALYTIQ_TEST_SEARCH_URI", "ANALYTIQ_PYTHON", "ANALYTIQ_API_URL", "ANALYTIQ_HYPOTHESIS"):
        monkeypatch.setenv(variable, "x")
    monkeypatch.setenv("ANALYTIQ_EMBEDDING__DEFAULT_MODEL", "openai/own")
    assert read_settings().embedding.default_model == "openai/own"


def test_address_of_a_server_of_ones_own_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_BASE", "http://localhost:11434/v1")
    key, base = provider_keys_from_environment()["openai"]
    assert (key.get_secret_value(), base) == ("no-key", "http://localhost:11434/v1")
