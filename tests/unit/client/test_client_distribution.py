"""The client's own distribution: its version, and what an import of it loads."""

import subprocess
import sys
import tomllib
from pathlib import Path

import analytiq

ROOT = Path(__file__).parents[3]
WHAT_AN_IMPORT_LOADS = """
import sys, analytiq.client
from analytiq.client import Client, AsyncClient
print(*sorted(sys.modules))
print(*sorted(name for name, model in vars(analytiq.client).items() if getattr(model, "__pydantic_complete__", False)))
"""


def test_server_depends_on_the_client_of_its_own_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == analytiq.__version__
    assert f"analytiq-client=={analytiq.__version__}" in project["dependencies"]


def test_import_loads_neither_the_server_nor_what_only_calls_need() -> None:
    # Each of these costs a tenth of a second: the HTTP library, the search for pydantic's plugins, built models.
    told = subprocess.run(
        [sys.executable, "-c", WHAT_AN_IMPORT_LOADS], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout
    modules, built = told.split("\n")[:2]
    loaded = set(modules.split())
    ours = {name for name in loaded if name.startswith("analytiq.") and not name.startswith("analytiq.client")}
    assert ours == {"analytiq.errors"}
    assert loaded & {"httpx", "rich", "importlib.metadata", "asyncio"} == set()
    assert built == ""
