import subprocess
import sys

import pytest

HEAVY = ("litellm", "chonkie", "onnxruntime", "onnx", "numpy", "fastapi", "lxml", "pypdfium2", "PIL", "tokenizers")


def loaded_by(module: str) -> set[str]:
    script = f"import sys, {module}; print(*sys.modules)"
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in finished.stdout.split()}


def test_help_loads_neither_the_driver_nor_the_client() -> None:
    loaded = loaded_by("analytiq.cli.main")
    assert "typer" in loaded
    assert not loaded & {"pymongo", "httpx", "pydantic_settings", "cryptography", *HEAVY}


@pytest.mark.parametrize("module", ["analytiq.cli.up", "analytiq.cli.demo"])
def test_supervising_process_stays_small(module: str) -> None:
    loaded = loaded_by(module)
    assert "pymongo" in loaded
    # numpy comes with the repositories, whose indexes the migrations create.
    assert not (loaded & set(HEAVY)) - {"numpy"}
