"""A model server of one's own, step by step as the how-to says: no key, its own models only, strict."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.running_platform import run_command, start_platform, stop_platform
from tests.fakes.embedding_server import EmbeddingServer

EMBEDDING, CHAT = "nomic-embed-text", "llama3.2"


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer(
        api_key=None, models=[EMBEDDING, CHAT], is_without_encoding_format=True, most_texts=10
    ) as running:
        yield running


def test_server_without_a_key_is_set_up_by_three_variables_and_forgotten_without_them(
    server: EmbeddingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_dir, file = tmp_path / "data", tmp_path / "whales.txt"
    file.write_text("\n".join(f"Whale number {number} swims in the sea of {number}." for number in range(400)))
    monkeypatch.setenv("OPENAI_API_BASE", server.url)
    monkeypatch.setenv("ANALYTIQ_EMBEDDING__DEFAULT_MODEL", f"openai/{EMBEDDING}")
    monkeypatch.setenv("ANALYTIQ_LLM__DEFAULT_MODEL", f"openai/{CHAT}")
    first = start_platform(data_dir, until="Chat:", prints_logs=False)

    def analytiq(*arguments: str) -> str:
        done = run_command(*arguments, "--data-dir", str(data_dir))
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    try:
        log = " ".join(first.log.split())
        assert f"ANALYTIQ_EMBEDDING__DEFAULT_MODEL: openai/{EMBEDDING} is the default from now on" in log
        assert f"openai/{EMBEDDING} at a server on this machine: texts do not leave it" in log
        models = analytiq("prompt", "models")
        assert f"openai/{CHAT}" in models
        told = " ".join(analytiq("ingest", str(file), "--tag", "sea", "--kb", "Sea").split())
        assert f"Embedded by openai/{EMBEDDING} at a server on this machine" in told
        assert "Whale number" in analytiq("search", "whale in the sea", "--kb", "Sea")
        assert max(len(request["input"]) for request in server.requests if isinstance(request["input"], list)) > 1
    finally:
        assert stop_platform(first) == 0
    for variable in ("OPENAI_API_BASE", "ANALYTIQ_EMBEDDING__DEFAULT_MODEL", "ANALYTIQ_LLM__DEFAULT_MODEL"):
        monkeypatch.delenv(variable)
    second = start_platform(data_dir, until="Chat:", prints_logs=False)
    try:
        log = " ".join(second.log.split())
        assert "the stored key of openai is removed" in log
        assert f"Embedding: openai/{EMBEDDING}" in log
        analytiq("providers", "platform", "put", "openai", "--no-key", "--api-base", server.url)
        assert "a command" in analytiq("providers", "platform", "list")
        told = " ".join(analytiq("kb", "create", "Ocean", "--tag", "sea").split())
        assert f"Embedded by openai/{EMBEDDING} at a server on this machine" in told
        assert "is removed" in analytiq("providers", "platform", "delete", "openai")
    finally:
        assert stop_platform(second) == 0


def test_key_in_the_shell_changes_no_model_and_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-merely-exported-0123456789")
    running = start_platform(tmp_path / "data", until="Chat:", prints_logs=False)
    try:
        log = " ".join(running.log.split())
        assert "OPENAI_API_KEY is set" in log
        assert "Embedding: local/all-minilm-l6-v2, in this installation: texts are sent nowhere" in log
        assert "https://api.openai.com/v1: texts leave this machine" in log
        assert "sk-merely" not in running.log
    finally:
        assert stop_platform(running) == 0
