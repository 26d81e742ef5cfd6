"""Names the files of the client's wheel; an editable installation has none, since it reads the tree itself."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FILES = {
    "LICENSE": "analytiq/client/LICENSE",
    "analytiq/__init__.py": "analytiq/__init__.py",
    "analytiq/errors.py": "analytiq/errors.py",
    "analytiq/py.typed": "analytiq/py.typed",
    "analytiq/client": "analytiq/client",
}


class ClientFiles(BuildHookInterface[Any]):
    """Adds the files from the root of the tree."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add them to a standard wheel."""
        if version != "editable":
            tree = Path(self.root).parents[1]
            build_data["force_include"].update({str(tree / source): target for source, target in FILES.items()})
