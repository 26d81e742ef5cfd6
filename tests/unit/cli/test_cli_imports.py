import subprocess
import sys
from importlib import metadata
from typing import cast

import pytest
from typer.main import get_group
from typer.testing import CliRunner

from analytiq.cli.lazy_group import LazyGroup, UnloadedCommand
from analytiq.cli.main import Commands, app

HEAVY = ("litellm", "chonkie", "onnxruntime", "onnx", "numpy", "fastapi", "lxml", "pypdfium2", "PIL", "tokenizers")


def loaded_by(module: str) -> set[str]:
    return loaded_after(f"import {module}")


def loaded_after(statement: str) -> set[str]:
    script = f"{statement}\nimport sys\nprint(*(name for name, module in sys.modules.items() if module is not None))"
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in finished.stdout.split()}


def test_help_loads_neither_the_driver_nor_the_client() -> None:
    loaded = loaded_by("analytiq.cli.main")
    assert "typer" in loaded
    assert not loaded & {"pymongo", "httpx", "pydantic", "cryptography", "structlog", *HEAVY}


def test_summaries_are_those_of_the_commands() -> None:
    unloaded = cast("LazyGroup", get_group(app)).commands
    assert len(unloaded) == len(Commands.command_modules) + len(Commands.group_modules)
    for name, command in unloaded.items():
        loaded = cast("UnloadedCommand", command).load()
        assert (loaded.name, command.help) == (name, (loaded.help or "").split("\n\n")[0])


def test_version_is_printed() -> None:
    answer = CliRunner().invoke(app, ["--version"])
    assert (answer.exit_code, answer.output) == (0, f"analytiq {metadata.version('analytiq')}\n")


@pytest.mark.slow
@pytest.mark.parametrize("module", ["analytiq.cli.up", "analytiq.cli.demo"])
def test_supervising_process_stays_small(module: str) -> None:
    loaded = loaded_by(module)
    assert "pymongo" in loaded
    # numpy comes with the repositories, whose indexes the migrations create.
    assert not (loaded & set(HEAVY)) - {"numpy"}


@pytest.mark.slow
@pytest.mark.parametrize("module", ["api.__main__", "workers.__main__", "reconciler.__main__"])
def test_process_imports_a_part_only_when_it_uses_it(module: str) -> None:
    loaded = loaded_by(module)
    assert "pymongo" in loaded
    models_and_parsers = {"litellm", "openai", "onnxruntime", "onnx", "chonkie", "pypdfium2", "PIL"}
    assert not loaded & {*models_and_parsers, "mcp", "authlib", "joserfc"}


@pytest.mark.slow
def test_chunker_brings_no_client_of_a_provider() -> None:
    loaded = loaded_by("analytiq.ingestion.chunking.recursive_chunker")
    assert "chonkie" in loaded
    assert not loaded & {"openai", "aiohttp"}


@pytest.mark.slow
def test_parsing_server_imports_parsers_without_settings_and_numpy() -> None:
    loaded = loaded_after("from analytiq.ingestion.parsing.fork_server import import_parsers; import_parsers()")
    assert {"pypdfium2", "openpyxl", "PIL"} <= loaded
    assert not loaded & {"numpy", "asyncio", "pydantic_settings"}
